/*
 * changes.c - two runs side by side.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"

/* A line that both runs have. */
struct change {
    const struct run_line *before, *after;
};

struct run_comparison {
    struct run_line *before, *after;
    size_t before_count, after_count;
    const char *before_name, *after_name;
    struct change *changes; /* the greatest first */
    size_t count;
};

static bool change_is_sure(const struct change *change)
{
    return line_certainty(change->before, change->after) == CERTAINTY_SURE;
}

static int change_compare(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (change_is_sure(x) != change_is_sure(y))
        return change_is_sure(x) ? -1 : 1;
    double x_size = fabs(log(x->after->p50 / x->before->p50)),
           y_size = fabs(log(y->after->p50 / y->before->p50));
    return (x_size < y_size) - (x_size > y_size);
}

static void comparison_open(struct run_comparison *comparison, const json_t *before,
                            const json_t *after)
{
    comparison->before = lines_read(before, &comparison->before_count);
    comparison->after = lines_read(after, &comparison->after_count);
    comparison->changes = new_array(comparison->before_count, sizeof *comparison->changes);
    for (size_t i = 0; i < comparison->before_count; i++) {
        const struct run_line *same =
            line_find(comparison->after, comparison->after_count, &comparison->before[i]);
        if (same)
            comparison->changes[comparison->count++] =
                (struct change){&comparison->before[i], same};
    }
    qsort(comparison->changes, comparison->count, sizeof *comparison->changes, change_compare);
}

static void comparison_close(struct run_comparison *comparison)
{
    free(comparison->before);
    free(comparison->after);
    free(comparison->changes);
}

/* ---- how they were run ---- */

/* A row of what differs; nothing where it does not. */
static void setting_put(FILE *out, const char *name, const json_t *before, const json_t *after)
{
    if (json_equal(before, after))
        return;
    fputs("<tr>", out);
    element_put(out, "th scope=\"row\"", "%s", name);
    fputs("<td>", out);
    option_text_put(out, before);
    fputs("</td><td>", out);
    option_text_put(out, after);
    fputs("</td></tr>\n", out);
}

/* Files of results say nothing of the run. */
static bool is_file(const char *option)
{
    static const char *const names[] = {"json", "csv", "samples", "verbose"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        found |= strcmp(option, names[i]) == 0;
    return found;
}

static json_t *ranks_count(const json_t *document)
{
    return json_integer((json_int_t)json_array_size(json_object_get(document, "ranks")));
}

static void settings_put(FILE *out, const json_t *before, const json_t *after,
                         const struct run_comparison *comparison)
{
    static const char *const facts[] = {"version", "status", "bootstrap", "vendor"};
    const char *const columns[] = {"Setting", comparison->before_name, comparison->after_name,
                                   NULL};
    const json_t *options = json_object_get(after, "options");
    json_t *ranks[] = {ranks_count(before), ranks_count(after)};
    const char *key;
    json_t *value;
    element_put(out, "h3", "What differs in how they were run");
    table_begin(out, "What differs in how they were run", columns);
    setting_put(out, "ranks", ranks[0], ranks[1]);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        setting_put(out, facts[i], json_object_get(before, facts[i]),
                    json_object_get(after, facts[i]));
    json_object_foreach(json_object_get(before, "options"), key, value) if (!is_file(key))
        setting_put(out, key, value, json_object_get(options, key));
    table_end(out);
    json_decref(ranks[0]);
    json_decref(ranks[1]);
}

/* ---- lines ---- */

/* Returns how many changed beyond noise. */
static size_t summary_put(FILE *out, const struct run_comparison *comparison)
{
    size_t faster = 0, slower = 0, noise = 0, unknown = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct change *change = &comparison->changes[i];
        enum certainty certainty = line_certainty(change->before, change->after);
        faster += certainty == CERTAINTY_SURE && change->after->p50 < change->before->p50;
        slower += certainty == CERTAINTY_SURE && change->after->p50 > change->before->p50;
        noise += certainty == CERTAINTY_NOISE;
        unknown += certainty == CERTAINTY_UNKNOWN;
    }
    element_put(out, "p class=\"card\"",
                "Of %zu line%s that both have, %zu became faster beyond noise and %zu slower; %zu "
                "changed within noise.%s",
                comparison->count, plural(comparison->count), faster, slower, noise,
                unknown ? " The others have too few iterations to tell." : "");
    element_put(out, "p class=\"muted\"",
                "Beyond noise: the 95%% intervals of the medians do not meet, and the medians "
                "differ by more than 2%%. What disturbed one run only, such as a busy host, counts "
                "as a change, too.");
    return faster + slower;
}

static void change_row(FILE *out, const struct change *change)
{
    char size[BYTES_TEXT_MOST];
    double ratio = change->after->p50 / change->before->p50;
    bool sure = change_is_sure(change);
    fputs("<tr>", out);
    element_put(out, "td class=\"name\"", "%s", change->before->algorithm);
    element_put(out, "td class=\"number\"", "%s", bytes_text(change->before->bytes, size));
    element_put(out, "td class=\"number\"", "%.3f", ratio);
    element_put(out,
                sure && ratio > 1   ? "td class=\"name bad\""
                : sure && ratio < 1 ? "td class=\"name good\""
                                    : "td class=\"name\"",
                "%s%s", sure ? ratio > 1 ? "\u25b2 slower, " : "\u25bc faster, " : "",
                certainty_words[line_certainty(change->before, change->after)]);
    median_cell(out, change->before);
    median_cell(out, change->after);
    element_put(out, "td class=\"name\"", "%s", change->before->group);
    fputs("</tr>\n", out);
}

static void changes_table(FILE *out, const struct run_comparison *comparison, bool sure)
{
    char before[300], after[300];
    const char *const columns[] = {"Algorithm", "#Bytes", "#Ratio",     "Change",
                                   before,      after,    "Collective", NULL};
    snprintf(before, sizeof before, "#p50 in %s, us", comparison->before_name);
    snprintf(after, sizeof after, "#p50 in %s, us", comparison->after_name);
    table_begin(out, sure ? "Lines that changed beyond noise" : "The other lines", columns);
    for (size_t i = 0; i < comparison->count; i++)
        if (change_is_sure(&comparison->changes[i]) == sure)
            change_row(out, &comparison->changes[i]);
    table_end(out);
}

/* Lines that only one of the runs has. */
static void only_put(FILE *out, const struct run_line *lines, size_t count,
                     const struct run_line *others, size_t other_count, const char *name)
{
    static const char *const columns[] = {"Collective", "Algorithm", "#Bytes", "#p50, us", NULL};
    size_t only = 0;
    for (size_t i = 0; i < count; i++)
        only += !line_find(others, other_count, &lines[i]);
    if (only == 0)
        return;
    details_begin(out, "%zu line%s only in %s", only, plural(only), name);
    table_begin(out, "Lines of one run only", columns);
    for (size_t i = 0; i < count; i++) {
        char text[NUMBER_TEXT_MOST];
        if (line_find(others, other_count, &lines[i]))
            continue;
        fputs("<tr>", out);
        element_put(out, "td class=\"name\"", "%s", lines[i].group);
        element_put(out, "td class=\"name\"", "%s", lines[i].algorithm);
        element_put(out, "td class=\"number\"", "%s", bytes_text(lines[i].bytes, text));
        element_put(out, "td class=\"number\"", "%s", number_text(lines[i].p50, 3, text));
        fputs("</tr>\n", out);
    }
    table_end(out);
    details_end(out);
}

/* ---- curves ---- */

/* Points of the fastest algorithm of each size. The caller frees them; NULL: out of memory. */
static struct chart_point *best_points(const struct run_line *lines, size_t count,
                                       const char *group, int *points)
{
    size_t winners;
    const struct run_line **best = winners_find(lines, count, group, &winners);
    struct chart_point *curve = new_array(winners, sizeof *curve);
    *points = (int)winners;
    for (int i = 0; i < *points; i++)
        curve[i] = (struct chart_point){best[i]->bytes, best[i]->p50, best[i]->low, best[i]->high};
    free(best);
    return curve;
}

static void group_curves(FILE *out, const struct run_comparison *comparison, const char *group)
{
    struct chart_series series[] = {{.name = comparison->before_name, .style = 0},
                                    {.name = comparison->after_name, .style = 1}};
    struct chart_point *before =
        best_points(comparison->before, comparison->before_count, group, &series[0].count);
    struct chart_point *after =
        best_points(comparison->after, comparison->after_count, group, &series[1].count);
    char title[SERIES_TEXT_MOST + 60];
    snprintf(title, sizeof title, "%s: time of the fastest algorithm (p50)", group);
    series[0].points = before;
    series[1].points = after;
    fputs("<div>\n", out);
    chart_put(out, &(struct chart){title, "us", true, series, 2});
    legend_put(out, series, 2);
    fputs("</div>\n", out);
    free(before);
    free(after);
}

/* A chart for each group that both runs have. */
static void curves_put(FILE *out, const struct run_comparison *comparison)
{
    fputs("<div class=\"charts\">\n", out);
    for (size_t i = 0; i < comparison->before_count; i++) {
        const char *group = comparison->before[i].group;
        bool is_first = true, both = false;
        for (size_t k = 0; k < i && is_first; k++)
            is_first = strcmp(comparison->before[k].group, group) != 0;
        for (size_t k = 0; k < comparison->after_count && !both; k++)
            both = strcmp(comparison->after[k].group, group) == 0;
        if (is_first && both)
            group_curves(out, comparison, group);
    }
    fputs("</div>\n", out);
}

void changes_put(struct page *page, const json_t *before, const char *before_name,
                 const json_t *after, const char *after_name)
{
    FILE *out = page->body;
    struct run_comparison comparison = {.before_name = before_name, .after_name = after_name};
    document_begin(page, "Changes from %s to %s", before_name, after_name);
    comparison_open(&comparison, before, after);
    size_t sure = summary_put(out, &comparison);
    settings_put(out, before, after, &comparison);
    curves_put(out, &comparison);
    element_put(out, "h3", "Changed beyond noise");
    if (sure > 0)
        changes_table(out, &comparison, true);
    else
        element_put(out, "p", "None.");
    details_begin(out, "The other lines that both runs have");
    changes_table(out, &comparison, false);
    details_end(out);
    only_put(out, comparison.before, comparison.before_count, comparison.after,
             comparison.after_count, before_name);
    only_put(out, comparison.after, comparison.after_count, comparison.before,
             comparison.before_count, after_name);
    comparison_close(&comparison);
    section_end(page);
}
