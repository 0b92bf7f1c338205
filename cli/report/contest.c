/*
 * contest.c - the algorithms of a run side by side.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/numbers.h"

/* An algorithm in a group. */
struct contender {
    const char *name;
    size_t wins;
    double lag; /* the mean logarithm of its time beside the winner's */
    struct chart_point *times, *rates;
    int count;
};

struct contest {
    const struct run_line **lines; /* of the group, by size, then as in the document */
    size_t count;
    struct contender *contenders; /* the best first */
    int contender_count;
};

/* By size; then by their places in the document. */
static int line_compare(const void *a, const void *b)
{
    const struct run_line *x = *(const struct run_line *const *)a,
                          *y = *(const struct run_line *const *)b;
    return COMPARE(x->bytes, y->bytes) ?: COMPARE(x, y);
}

static const struct run_line **group_lines(const struct run_line *lines, size_t count,
                                           const char *group, size_t *found)
{
    const struct run_line **found_lines = new_array(count, sizeof *found_lines);
    *found = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(lines[i].group, group) == 0)
            found_lines[(*found)++] = &lines[i];
    qsort(found_lines, *found, sizeof *found_lines, line_compare);
    return found_lines;
}

/* The lines of one size, from `first` on: the fastest right one and the next. Returns where the
 * next size begins. */
static size_t size_rank(const struct run_line *const *lines, size_t count, size_t first,
                        const struct run_line *best[2])
{
    size_t end = first;
    best[0] = best[1] = NULL;
    for (; end < count && lines[end]->bytes == lines[first]->bytes; end++) {
        const struct run_line *line = lines[end];
        if (line->wrong)
            continue;
        if (!best[0] || line->p50 < best[0]->p50) {
            best[1] = best[0];
            best[0] = line;
        } else if (!best[1] || line->p50 < best[1]->p50) {
            best[1] = line;
        }
    }
    return end;
}

const struct run_line **winners_find(const struct run_line *lines, size_t count, const char *group,
                                     size_t *winners)
{
    size_t found;
    const struct run_line **ordered = group_lines(lines, count, group, &found), *best[2];
    *winners = 0;
    for (size_t first = 0; first < found;) {
        first = size_rank(ordered, found, first, best);
        if (best[0])
            ordered[(*winners)++] = best[0]; /* before `first` */
    }
    return ordered;
}

/* ---- contenders ---- */

static struct contender *contender_of(struct contest *contest, const char *name)
{
    for (int i = 0; i < contest->contender_count; i++)
        if (strcmp(contest->contenders[i].name, name) == 0)
            return &contest->contenders[i];
    struct contender *contender = &contest->contenders[contest->contender_count++];
    *contender = (struct contender){.name = name,
                                    .times = new_array(contest->count, sizeof *contender->times),
                                    .rates = new_array(contest->count, sizeof *contender->rates)};
    return contender;
}

static int contender_compare(const void *a, const void *b)
{
    const struct contender *x = a, *y = b;
    if (x->wins != y->wins)
        return x->wins > y->wins ? -1 : 1;
    double x_lag = x->lag / x->count, y_lag = y->lag / y->count;
    return COMPARE(x_lag, y_lag);
}

static void line_enter(struct contest *contest, const struct run_line *line,
                       const struct run_line *best)
{
    struct contender *contender = contender_of(contest, line->algorithm);
    contender->times[contender->count] =
        (struct chart_point){line->bytes, line->p50, line->low, line->high};
    contender->rates[contender->count] = (struct chart_point){line->bytes, line->busbw, NAN, NAN};
    contender->count++;
    contender->wins += line == best;
    contender->lag += best ? log(line->p50 / best->p50) : 0;
}

static void contest_open(struct contest *contest, const struct run_line *lines, size_t count,
                         const char *group)
{
    const struct run_line *best[2];
    *contest = (struct contest){.count = 0};
    contest->lines = group_lines(lines, count, group, &contest->count);
    contest->contenders = new_array(contest->count, sizeof *contest->contenders);
    for (size_t first = 0, end; first < contest->count; first = end) {
        end = size_rank(contest->lines, contest->count, first, best);
        for (size_t i = first; i < end; i++)
            line_enter(contest, contest->lines[i], best[0]);
    }
    qsort(contest->contenders, (size_t)contest->contender_count, sizeof *contest->contenders,
          contender_compare);
}

static void contest_close(struct contest *contest)
{
    for (int i = 0; i < contest->contender_count; i++) {
        free(contest->contenders[i].times);
        free(contest->contenders[i].rates);
    }
    free(contest->contenders);
    free(contest->lines);
}

/* ---- pictures and tables ---- */

static void curves_put(FILE *out, const struct contest *contest)
{
    int count = contest->contender_count;
    struct chart_series *times = new_array((size_t)count, sizeof *times),
                        *rates = new_array((size_t)count, sizeof *rates);
    for (int i = 0; i < count; i++) {
        const struct contender *contender = &contest->contenders[i];
        times[i] = (struct chart_series){contender->name, i < SERIES_STYLES ? i : -1,
                                         contender->times, contender->count};
        rates[i] = times[i];
        rates[i].points = contender->rates;
    }
    fputs("<div class=\"charts\">\n", out);
    chart_put(out, &(struct chart){"busbw", "GB/s", false, rates, count});
    chart_put(out, &(struct chart){"Time (p50)", "us", true, times, count});
    fputs("</div>\n", out);
    legend_put(out, times, count);
    if (count > SERIES_STYLES)
        element_put(out, "p class=\"muted\"",
                    "The other %d algorithms are thin lines: point at one for its name.",
                    count - SERIES_STYLES);
    free(times);
    free(rates);
}

void median_cell(FILE *out, const struct run_line *line)
{
    char number[NUMBER_TEXT_MOST];
    fputs("<td class=\"number\">", out);
    text_put(out, "%s", number_text(line->p50, 3, number));
    if (line->low > 0) {
        text_put(out, " (%s", number_text(line->low, 3, number));
        text_put(out, " to %s)", number_text(line->high, 3, number));
    }
    fputs("</td>", out);
}

static void winner_row(FILE *out, const struct run_line *best, const struct run_line *second)
{
    char text[NUMBER_TEXT_MOST];
    fputs("<tr>", out);
    element_put(out, "th scope=\"row\" class=\"number\"", "%s", bytes_text(best->bytes, text));
    element_put(out, "td class=\"name\"", "%s", best->algorithm);
    median_cell(out, best);
    element_put(out, "td class=\"number\"", "%s", number_text(best->busbw, 3, text));
    if (second) {
        element_put(out, "td class=\"name\"", "%s", second->algorithm);
        median_cell(out, second);
        element_put(out, "td class=\"number\"", "%.1f%%", 100 * (second->p50 / best->p50 - 1));
        element_put(out, "td class=\"name\"", "%s", certainty_words[line_certainty(best, second)]);
    } else {
        fputs("<td>none</td><td></td><td></td><td></td>", out);
    }
    fputs("</tr>\n", out);
}

static void winners_put(FILE *out, const struct contest *contest)
{
    static const char *const columns[] = {"#Bytes",       "Winner",     "#p50, us (95% interval)",
                                          "#busbw, GB/s", "Next",       "#p50, us (95% interval)",
                                          "#Slower by",   "Difference", NULL};
    const struct run_line *best[2];
    element_put(out, "h4", "The winner of each size");
    table_begin(out, "The winner of each size", columns);
    for (size_t first = 0; first < contest->count;) {
        first = size_rank(contest->lines, contest->count, first, best);
        if (best[0])
            winner_row(out, best[0], best[1]);
    }
    table_end(out);
}

static void lines_put(FILE *out, const struct contest *contest)
{
    static const char *const columns[] = {"#Bytes",       "Algorithm", "#p50, us (95% interval)",
                                          "#busbw, GB/s", "Data",      NULL};
    details_begin(out, "All %zu lines", contest->count);
    table_begin(out, "All lines", columns);
    for (size_t i = 0; i < contest->count; i++) {
        const struct run_line *line = contest->lines[i];
        char text[NUMBER_TEXT_MOST];
        fputs("<tr>", out);
        element_put(out, "td class=\"number\"", "%s", bytes_text(line->bytes, text));
        element_put(out, "td class=\"name\"", "%s", line->algorithm);
        median_cell(out, line);
        element_put(out, "td class=\"number\"", "%s", number_text(line->busbw, 3, text));
        if (line->wrong)
            fputs("<td class=\"bad\">\u2716 wrong</td>", out);
        else
            fputs("<td>right</td>", out);
        fputs("</tr>\n", out);
    }
    table_end(out);
    details_end(out);
}

void contest_put(struct page *page, const struct run_line *lines, size_t count, const char *group)
{
    struct contest contest;
    section_begin(page, "%s", group);
    contest_open(&contest, lines, count, group);
    curves_put(page->body, &contest);
    if (contest.contender_count > 1)
        winners_put(page->body, &contest);
    lines_put(page->body, &contest);
    contest_close(&contest);
    section_end(page);
}
