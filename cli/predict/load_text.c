/*
 * load_text.c - the load of links as text.
 */
#include "cli/predict/predict.h"

#include <stdlib.h>

#include "cli/report/report.h"

#define LINKS_SHOWN 10
#define RUNS_SHOWN  20

static const char *link_name(const struct link_load *load, uint32_t number,
                             struct topology_link *link)
{
    topology_link_get(link_load_topology(load), number, link);
    return link->name;
}

static void links_print(FILE *out, const struct link_load *load, int most)
{
    struct loaded_link *top = calloc((size_t)most, sizeof *top);
    double ends = link_load_sums(load).ends;
    int count = top ? link_load_top(load, top, most) : 0;
    if (count > 0)
        fprintf(out, "#\n# %-48s %8s %9s %9s %9s\n", "the most loaded links", "rate", "bytes",
                "busiest", "busy");
    for (int i = 0; i < count; i++) {
        struct topology_link link;
        char bytes[BYTES_TEXT_MOST], peak[BYTES_TEXT_MOST];
        fprintf(out, "  %-48s %8.3g %9s %9s %8.0f%%\n", link_name(load, top[i].link, &link),
                topology_capacity(link_load_topology(load), top[i].link),
                bytes_text(top[i].bytes, bytes), bytes_text(top[i].peak, peak),
                100 * top[i].time / ends);
    }
    free(top);
}

/* Steps that follow each other with the same numbers are one line. */
static int run_end(const struct link_load *load, int first)
{
    struct step_load one = link_load_step(load, first);
    for (int s = first + 1; s < link_load_steps(load); s++) {
        struct step_load other = link_load_step(load, s);
        if (other.ends != one.ends || other.links != one.links || other.link != one.link)
            return s;
    }
    return link_load_steps(load);
}

static void steps_print(FILE *out, const struct link_load *load, int most)
{
    int steps = link_load_steps(load), first = 0;
    fprintf(out, "#\n# %-13s %12s %12s %7s  %s\n", "steps", "rank sends", "link, by rate", "factor",
            "the busiest link");
    for (int shown = 0; first < steps && shown < most; shown++) {
        struct step_load step = link_load_step(load, first);
        struct topology_link link = {.name = "-"};
        char numbers[32], ends[BYTES_TEXT_MOST], busiest[BYTES_TEXT_MOST];
        int end = run_end(load, first);
        snprintf(numbers, sizeof numbers, end - first > 1 ? "%d-%d" : "%d", first, end - 1);
        if (step.link != NO_LINK)
            link_name(load, step.link, &link);
        fprintf(out, "  %-13s %12s %12s %7.3g  %s\n", numbers, bytes_text(step.ends, ends),
                bytes_text(step.links, busiest),
                step.ends > 0 && step.links > step.ends ? step.links / step.ends : 1, link.name);
        first = end;
    }
    if (first < steps)
        fprintf(out, "# and %d more steps: -v shows all\n", steps - first);
}

void load_print(FILE *out, const struct link_load *load, const char *title, bool all)
{
    struct load_sums sums = link_load_sums(load);
    char ends[BYTES_TEXT_MOST], links[BYTES_TEXT_MOST];
    fprintf(out, "# load of links, %s\n", title);
    fprintf(out,
            "# congestion factor %.3g: %s through the busiest link of each step, %s through a "
            "rank's own port\n",
            link_load_factor(load), bytes_text(sums.all, links), bytes_text(sums.ends, ends));
    uint32_t count = topology_links(link_load_topology(load));
    links_print(out, load, all && count > 0 ? (int)count : LINKS_SHOWN);
    steps_print(out, load, all ? link_load_steps(load) : RUNS_SHOWN);
}
