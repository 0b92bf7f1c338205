/*
 * acceptance_part.c - an acceptance run on a page.
 */
#include "cli/report/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/host_list.h"
#include "base/io/io.h"

#define HOSTS_MOST 4096 /* rows of the table of hosts */

static int names_compare(const void *a, const void *b)
{
    return host_name_compare(*(const char *const *)a, *(const char *const *)b);
}

static int health_count(const struct measured *measured, const char *health)
{
    int count = 0;
    for (int h = 0; h < measured->host_count; h++)
        count += strcmp(measured->hosts[h].health, health) == 0;
    return count;
}

/* The hosts of one health as a list of Slurm: "n[1-16,18]". */
static void hosts_put(FILE *out, const struct measured *measured, const char *health)
{
    size_t size = 1;
    int count = 0;
    const char **names = calloc((size_t)measured->host_count + 1, sizeof *names);
    for (int h = 0; names && h < measured->host_count; h++)
        if (strcmp(measured->hosts[h].health, health) == 0) {
            names[count++] = measured->hosts[h].name;
            size += strlen(measured->hosts[h].name) + 2;
        }
    char *list = names ? malloc(size) : NULL;
    if (list) {
        struct text text = text_in(list, size);
        qsort(names, (size_t)count, sizeof *names, names_compare);
        host_list_add(&text, names, count);
        text_put(out, "%s", list);
    }
    free(list);
    free(names);
}

static void health_put(FILE *out, const struct measured *measured, const char *health,
                       const char *sign)
{
    int count = health_count(measured, health);
    fprintf(out, "<dt class=\"%s\">%s %d %s</dt><dd>", health, sign, count, health);
    if (count > 0)
        hosts_put(out, measured, health);
    else
        fputs("none", out);
    fputs("</dd>\n", out);
}

static void verdict_put(struct page *page, const json_t *document, const struct measured *measured)
{
    FILE *out = page->body;
    int bad = health_count(measured, "bad"), suspect = health_count(measured, "suspect");
    int unknown = health_count(measured, "unknown");
    section_begin(page, "Verdict");
    if (bad > 0)
        element_put(out, "p class=\"verdict bad\"", "\u2716 %d of %d hosts %s bad", bad,
                    measured->host_count, bad == 1 ? "is" : "are");
    else if (suspect > 0)
        element_put(out, "p class=\"verdict suspect\"", "? %d of %d hosts %s suspect", suspect,
                    measured->host_count, suspect == 1 ? "is" : "are");
    else if (unknown > 0)
        element_put(out, "p class=\"verdict suspect\"", "? %d of %d hosts could not be judged",
                    unknown, measured->host_count);
    else
        element_put(out, "p class=\"verdict good\"", "\u2714 No host is bad or suspect");
    fputs("<dl>\n", out);
    health_put(out, measured, "good", "\u2714");
    if (unknown > 0)
        health_put(out, measured, "unknown", "?");
    health_put(out, measured, "suspect", "?");
    health_put(out, measured, "bad", "\u2716");
    fputs("<dt>Status</dt>", out);
    element_put(out, "dd", "%s", word_of(document, "status"));
    fputs("<dt>Made by</dt>", out);
    element_put(out, "dd", "cctest %s, agents by %s", word_of(document, "version"),
                word_of(document, "bootstrap"));
    fputs("</dl>\n", out);
    section_end(page);
}

static void pairs_put(struct page *page, const struct measured *measured)
{
    bool any = false;
    section_begin(page, "Pairs of hosts");
    fputs("<div class=\"charts\">\n", page->body);
    for (int m = 0; m < measured->metric_count; m++)
        if (measured->metrics[m].of_pairs && measured->metrics[m].count > 0) {
            heat_map_put(page->body, measured, &measured->metrics[m]);
            any = true;
        }
    fputs("</div>\n", page->body);
    if (!any)
        element_put(page->body, "p", "No pair was measured.");
    section_end(page);
}

static void distributions_put(struct page *page, const struct measured *measured)
{
    section_begin(page, "Distributions");
    element_put(page->body, "p class=\"muted\"",
                "The median is a dashed line. Hosts that are not good stand below at their own "
                "median, of pairs that of the worse direction. The spread is the standard "
                "deviation as the median absolute deviation "
                "estimates it.");
    fputs("<div class=\"charts\">\n", page->body);
    for (int m = 0; m < measured->metric_count; m++)
        distribution_put(page->body, measured, &measured->metrics[m]);
    fputs("</div>\n", page->body);
    section_end(page);
}

static void stages_put(struct page *page, const json_t *document)
{
    static const char *const columns[] = {"Stage", "State", "#Seconds", "#Jobs", "Result", NULL};
    size_t index;
    const json_t *stage;
    char seconds[NUMBER_TEXT_MOST];
    FILE *out = page->body;
    section_begin(page, "Stages");
    table_begin(out, "Stages", columns);
    json_array_foreach(json_object_get(document, "stages"), index, stage)
    {
        const char *why = word_of(stage, "why"), *result = word_of(stage, "result");
        fputs("<tr>", out);
        element_put(out, "th scope=\"row\"", "%s", word_of(stage, "stage"));
        element_put(out, "td class=\"name\"", "%s",
                    strcmp(word_of(stage, "state"), "left-out") == 0 ? "left out"
                                                                     : word_of(stage, "state"));
        element_put(out, "td class=\"number\"", "%s",
                    number_text(number_of(stage, "seconds"), seconds));
        element_put(out, "td class=\"number\"", "%zu",
                    json_array_size(json_object_get(stage, "jobs")));
        element_put(out, "td class=\"long\"", "%s%s%s", why, *why && *result ? ": " : "", result);
        fputs("</tr>\n", out);
    }
    table_end(out);
    section_end(page);
}

/* A column for each metric: the median of what the host took part in. */
static void host_row(FILE *out, const struct measured *measured, int host)
{
    const struct measured_host *it = &measured->hosts[host];
    char number[NUMBER_TEXT_MOST];
    fputs("<tr>", out);
    element_put(out, "th scope=\"row\"", "%s", it->name);
    fprintf(out, "<td class=\"name %s\">%s%s</td>", it->health, it->health,
            it->lost ? ", lost" : "");
    for (int m = 0; m < measured->metric_count; m++)
        element_put(out, "td class=\"number\"", "%s",
                    number_text(measured->metrics[m].of_host[host], number));
    fputs("</tr>\n", out);
}

static void hosts_table(struct page *page, const struct measured *measured)
{
    char titles[METRICS_MOST][120];
    const char *columns[METRICS_MOST + 3] = {"Host", "Health"};
    for (int m = 0; m < measured->metric_count; m++) {
        snprintf(titles[m], sizeof titles[m], "#%s, %s", metric_title(&measured->metrics[m]),
                 measured->metrics[m].unit);
        columns[m + 2] = titles[m];
    }
    section_begin(page, "Hosts");
    details_begin(page->body, "Medians of %d host%s; of pairs the worse direction",
                  measured->host_count, plural_end((size_t)measured->host_count));
    table_begin(page->body, "Hosts", columns);
    for (int h = 0; h < measured->host_count && h < HOSTS_MOST; h++)
        host_row(page->body, measured, h);
    table_end(page->body);
    if (measured->host_count > HOSTS_MOST)
        element_put(page->body, "p class=\"muted\"", "The JSON has the other %d.",
                    measured->host_count - HOSTS_MOST);
    details_end(page->body);
    section_end(page);
}

void acceptance_put(struct page *page, const json_t *document)
{
    struct measured measured;
    if (measured_read(document, &measured)) {
        verdict_put(page, document, &measured);
        section_begin(page, "Findings");
        findings_put(page->body, document, &measured);
        section_end(page);
        pairs_put(page, &measured);
        distributions_put(page, &measured);
        stages_put(page, document);
        hosts_table(page, &measured);
    }
    measured_free(&measured);
}
