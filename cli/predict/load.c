/*
 * load.c - the load of links that an algorithm makes, as text, JSON and picture.
 */
#include "cli/predict/internal.h"

#include "base/io/io.h"
#include "base/log.h"
#include "cli/plan/plan.h"
#include "cli/report/report.h"

#include <math.h>
#include <stdlib.h>

/*
 * The load of links that the messages of an algorithm make.
 */
static enum status schedule_load(const struct schedule *schedule, size_t element,
                                 struct link_load *load)
{
    const struct problem *problem = &schedule->problem;
    int rank = problem_member(problem, schedule->rank);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < schedule->count && status == STATUS_OK; i++) {
        const struct operation *operation = &schedule->operations[i];
        if (operation->kind == OPERATION_SEND)
            status = link_load_add(load, operation->step, rank, operation->peer,
                                   (double)operation->length * (double)element);
    }
    return status;
}

enum status message_load_add(const struct choice *choice, const struct problem *problem,
                             int channels, size_t element, struct link_load *load)
{
    enum status status = STATUS_OK;
    for (int rank = 0; rank < problem->ranks && status == STATUS_OK; rank++) {
        struct schedule *schedule = NULL;
        status = schedule_build(choice, problem, rank, channels, false, &schedule);
        if (status == STATUS_OK)
            status = schedule_load(schedule, element, load);
        schedule_free(schedule);
    }
    return status;
}

/*
 * The load of links as text.
 */
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

/*
 * The load of links in JSON.
 */
struct listed_step {
    struct step_load load;
    struct topology_link link; /* the busiest; without a name: there is none */
};

const struct json_field load_step_fields[] = {
    {"rank_bytes", "amount", "that the busiest rank sends or receives",
     JSON_MEMBER(struct listed_step, load.ends)},
    {"link_bytes_by_rate", "amount", "of the busiest link",
     JSON_MEMBER(struct listed_step, load.links)},
    {"link", "name?", "that link; null: no message crosses one",
     JSON_MEMBER(struct listed_step, link.name)},
    {0},
};

struct listed_link {
    struct loaded_link load;
    struct topology_link link;
    double busy;
};

static json_t *link_bytes_by_step(const void *object, const void *context)
{
    const struct listed_link *link = object;
    json_t *by_step = json_array();
    for (int s = 0; s < link_load_steps(context); s++)
        json_array_append_new(by_step, json_real(link_load_bytes(context, s, link->load.link)));
    return by_step;
}

const struct json_field loaded_link_fields[] = {
    {"link", "name", "name of the link", JSON_MEMBER(struct listed_link, link.name)},
    {"rate", "quantity", "in multiples of what a rank sends by itself",
     JSON_MEMBER(struct listed_link, link.capacity)},
    {"bytes", "amount", "in all steps", JSON_MEMBER(struct listed_link, load.bytes)},
    {"busy", "amount", "bytes by rate, by what the busiest ranks send in all steps",
     JSON_MEMBER(struct listed_link, busy)},
    {"bytes_by_step", "[amount]", "bytes in each step, in order", JSON_MADE(link_bytes_by_step)},
    {0},
};

struct listed_load {
    double factor; /* of congestion */
    const struct loaded_link *links;
    int link_count, left_out; /* in the list, and not */
};

static json_t *steps_json(const void *object, const void *context)
{
    json_t *steps = json_array();
    (void)object;
    for (int s = 0; s < link_load_steps(context); s++) {
        struct listed_step step = {.load = link_load_step(context, s)};
        if (step.load.link != NO_LINK)
            link_name(context, step.load.link, &step.link);
        json_array_append_new(steps, json_object_of(load_step_fields, &step, NULL));
    }
    return steps;
}

static json_t *links_json(const void *object, const void *context)
{
    const struct listed_load *listed = object;
    double ends = link_load_sums(context).ends;
    json_t *links = json_array();
    for (int i = 0; i < listed->link_count; i++) {
        struct listed_link link = {.load = listed->links[i]};
        link_name(context, link.load.link, &link.link);
        link.busy = ends > 0 ? link.load.time / ends : 0;
        json_array_append_new(links, json_object_of(loaded_link_fields, &link, context));
    }
    return links;
}

const struct json_field load_fields[] = {
    {"congestion_factor", "factor",
     "the sum over the steps of the busiest link's bytes by its rate, by the sum of what the "
     "busiest rank sends or receives",
     JSON_MEMBER(struct listed_load, factor)},
    {"steps", "[load_step]", "steps of the schedule, in order", JSON_MADE(steps_json)},
    {"links", "[loaded_link]", "the most loaded first", JSON_MADE(links_json)},
    {"links_left_out", "count", "that carry messages, and do not stand in the list",
     JSON_MEMBER(struct listed_load, left_out)},
    {0},
};

json_t *load_json(const struct link_load *load)
{
    uint32_t all = topology_links(link_load_topology(load));
    struct loaded_link *top = calloc((size_t)all + 1, sizeof *top);
    int count = top ? link_load_top(load, top, (int)all) : 0;
    int most = LOAD_NUMBERS_MOST / (link_load_steps(load) + 1);
    int shown = count < most ? count : most;
    const struct listed_load listed = {link_load_factor(load), top, shown, count - shown};
    json_t *object = json_object_of(load_fields, &listed, load);
    free(top);
    return object;
}

struct network {
    const char *words;
    int hosts, places;
    uint32_t links;
};

const struct json_field network_fields[] = {
    {"words", "name", "what it is", JSON_MEMBER(struct network, words)},
    {"hosts", "positive", "hosts of the network", JSON_MEMBER(struct network, hosts)},
    {"places", "positive", "where ranks can sit", JSON_MEMBER(struct network, places)},
    {"links", "count", "of one direction each", JSON_MEMBER(struct network, links)},
    {0},
};

json_t *topology_json(const struct topology *topology)
{
    const struct network network = {topology_words(topology), topology_hosts(topology),
                                    topology_ends(topology), topology_links(topology)};
    return json_object_of(network_fields, &network, NULL);
}

/*
 * The load of links as a picture.
 */
#define ROWS_MOST    48
#define COLUMNS_MOST 128
#define ROW          16.0
#define TOP          112.0
#define LEFT         330.0
#define BAR          120.0 /* the bar of all steps together */
#define LEVELS       8     /* colours above what the ranks' own ports allow */

struct load_map {
    FILE *out;
    const struct link_load *load;
    struct loaded_link links[ROWS_MOST];
    int rows, columns, shared; /* steps of a column */
    double column;             /* width */
    double worst;              /* the largest factor of any cell */
    double ends;               /* sum over steps of the busiest end */
};

static const char style[] =
    "text { font: 11px 'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif; fill: #333 }\n"
    ".title { font-size: 17px; font-weight: bold; fill: #111 }\n"
    ".small { font-size: 10px; fill: #666 }\n"
    ".bar { fill: #888 }\n"
    ".one { stroke: #c00; stroke-dasharray: 2 2 }\n";

/* The time that a step takes on a link, in multiples of the time that the ends alone need. */
static double cell_factor(const struct load_map *map, uint32_t link, int step)
{
    double ends = link_load_step(map->load, step).ends;
    double bytes = link_load_bytes(map->load, step, link);
    return ends > 0 ? bytes / topology_capacity(link_load_topology(map->load), link) / ends : 0;
}

/* Up to 1 from white to blue: the link has time left. Above, from yellow to red: it slows the step
 * down. */
static struct colour factor_colour(const struct load_map *map, double factor)
{
    struct colour colour;
    int red, green, blue;
    if (factor <= 1 + 1e-9) {
        red = (int)(255 - 165 * factor);
        green = (int)(255 - 105 * factor);
        blue = (int)(255 - 35 * factor);
    } else {
        double share = map->worst > 1 ? log(factor) / log(map->worst) : 1;
        share = ceil(fmin(1, share) * LEVELS) / LEVELS;
        red = (int)(250 - 60 * share);
        green = (int)(200 - 190 * share);
        blue = (int)(60 - 40 * share);
    }
    snprintf(colour.text, sizeof colour.text, "#%02x%02x%02x", (unsigned)red & 0xff,
             (unsigned)green & 0xff, (unsigned)blue & 0xff);
    return colour;
}

static void cell_put(const struct load_map *map, int row, int column)
{
    const struct loaded_link *link = &map->links[row];
    int first = column * map->shared, end = first + map->shared, steps = link_load_steps(map->load);
    double factor = 0, bytes = 0;
    for (int s = first; s < end && s < steps; s++) {
        factor = fmax(factor, cell_factor(map, link->link, s));
        bytes = fmax(bytes, link_load_bytes(map->load, s, link->link));
    }
    char text[BYTES_TEXT_MOST], numbers[40];
    if (bytes == 0)
        return;
    end = end < steps ? end : steps;
    snprintf(numbers, sizeof numbers, end - first > 1 ? "steps %d to %d" : "step %d", first,
             end - 1);
    fprintf(map->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\">"
            "<title>%s: %s bytes, factor %.3g</title></rect>\n",
            LEFT + column * map->column, TOP + row * ROW, map->column - (map->column > 4), ROW - 1,
            factor_colour(map, factor).text, numbers, bytes_text(bytes, text), factor);
}

static void row_put(const struct load_map *map, int row, double busiest)
{
    const struct loaded_link *loaded = &map->links[row];
    double y = TOP + row * ROW, right = LEFT + map->columns * map->column + 12;
    struct topology_link link;
    char text[BYTES_TEXT_MOST];
    topology_link_get(link_load_topology(map->load), loaded->link, &link);
    put_line(map->out, LEFT - 8, y + 12, "text-anchor=\"end\"", "%s", link.name);
    for (int c = 0; c < map->columns; c++)
        cell_put(map, row, c);
    fprintf(map->out,
            "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", right,
            y + 3, BAR * loaded->time / busiest, ROW - 7);
    put_line(map->out, right + BAR + 6, y + 12, "class=\"small\"", "%s, busy %.0f%%",
             bytes_text(loaded->bytes, text), 100 * loaded->time / map->ends);
}

/* The meaning of the colours. */
static void legend_put(const struct load_map *map)
{
    static const double shares[] = {0.25, 0.5, 1};
    double x = LEFT;
    for (int i = 0; i < 3 + (map->worst > 1 ? 2 : 0); i++) {
        double factor = i < 3 ? shares[i] : i == 3 ? sqrt(map->worst) : map->worst;
        fprintf(map->out, "<rect x=\"%.1f\" y=\"78\" width=\"22\" height=\"12\" fill=\"%s\"/>\n", x,
                factor_colour(map, factor).text);
        put_line(map->out, x + 26, 88, "class=\"small\"", "%.3g", factor);
        x += 72;
    }
    put_line(map->out, x, 88, "class=\"small\"",
             "bytes by the link's rate, in multiples of what the busiest rank sends in the step");
}

static void axis_put(const struct load_map *map)
{
    int steps = link_load_steps(map->load), apart = (map->columns + 15) / 16;
    for (int c = 0; c < map->columns; c += apart)
        put_line(map->out, LEFT + (c + 0.5) * map->column, TOP - 5,
                 "class=\"small\" text-anchor=\"middle\"", "%d", c * map->shared);
    put_line(map->out, LEFT - 8, TOP - 5, "class=\"small\" text-anchor=\"end\"", "%d step%s", steps,
             plural((size_t)steps));
}

static void body_put(struct load_map *map, const char *title, const char *words)
{
    put_line(map->out, 16, 30, "class=\"title\"", "%s", title);
    put_line(map->out, 16, 50, "", "%s", words);
    put_line(map->out, 16, 67, "class=\"small\"",
             "congestion factor %.3g; the %d most loaded links", link_load_factor(map->load),
             map->rows);
    legend_put(map);
    axis_put(map);
    for (int r = 0; r < map->rows; r++)
        row_put(map, r, map->links[0].time);
}

static void map_measure(struct load_map *map)
{
    int steps = link_load_steps(map->load);
    map->rows = link_load_top(map->load, map->links, ROWS_MOST);
    map->shared = (steps + COLUMNS_MOST - 1) / COLUMNS_MOST;
    map->columns = map->shared ? (steps + map->shared - 1) / map->shared : 0;
    map->column = map->columns > 64 ? 8 : map->columns > 16 ? 16 : 32;
    map->ends = link_load_sums(map->load).ends;
    for (int s = 0; s < steps; s++) {
        struct step_load step = link_load_step(map->load, s);
        if (step.ends > 0)
            map->worst = fmax(map->worst, step.links / step.ends);
    }
}

enum status load_draw(const struct link_load *load, const char *title, const char *words,
                      const char *path)
{
    struct load_map map = {.load = load};
    struct draft body;
    map_measure(&map);
    map.out = draft_open(&body);
    body_put(&map, title, words);
    const struct svg_frame frame = {title, style,
                                    fmax(980, LEFT + map.columns * map.column + BAR + 160),
                                    TOP + map.rows * ROW + 24};
    return svg_put(&frame, &body, path);
}
