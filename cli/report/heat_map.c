/*
 * heat_map.c - the pairs of hosts as a map.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/list.h"
#include "base/numbers.h"
#include "base/stats/stats.h"

#define CELLS_MOST   128 /* in a row; of more hosts several share a cell */
#define NUMBERS_MOST 12  /* in a row, for cells that show their numbers, */
#define CELL_WIDTH   48  /* and so wide are these; wider ones, for the names of columns, */
#define NAMES_WIDTH  570 /* if the map is not wider: two stand beside each other on a page */
#define LABELS_MOST  32  /* all rows have one up to here */
#define RANGE_LEAST  2.0 /* from the faintest colour to the strongest: noise looks faint */
#define TOP          26.0
#define LINE         15.0 /* the height of a name */
#define LETTER       7.0  /* the width of one, at most */

/* The geometry of a map, and the colours of its values. */
struct map {
    const struct measured *measured;
    const struct measured_metric *metric;
    /* The hosts from the first row to the last: those behind one switch beside each other. */
    int *order;
    int *place; /* of each host in that order */
    int side;   /* cells in a row */
    int shared; /* hosts in a cell */
    double width, height, left;
    bool named;         /* columns are as wide as the names of their hosts */
    double best, worst; /* the values of the faintest and the strongest colour */
    double start;       /* that logarithms of values have: losses may be 0 */
    double *values;     /* [side * side], NAN: not measured */
    bool *failed;       /* [side * side] */
};

/* ---- values ---- */

/* A latency is that of both directions. */
static bool is_mutual(const struct measured_metric *metric)
{
    return strcmp(metric->name, "latency") == 0;
}

static int measurement_compare(const void *a, const void *b)
{
    const struct measurement *x = a, *y = b;
    return COMPARE(x->from, y->from) ?: COMPARE(x->to, y->to) ?: COMPARE(x->rail, y->rail);
}

static void cell_add(struct map *map, int from, int to, double value)
{
    int row = map->place[from] / map->shared, column = map->place[to] / map->shared;
    size_t at = (size_t)row * (size_t)map->side + (size_t)column;
    if (isnan(value))
        map->failed[at] = true;
    else if (isnan(map->values[at]) || metric_is_worse(map->metric, value, map->values[at]))
        map->values[at] = value;
}

/* The sorted measurements from `first` on that are of its pair and rail make one value. Returns
 * where the next begin. */
static size_t run_add(struct map *map, const struct measurement *sorted, size_t first, size_t count,
                      double *room)
{
    size_t end = first, values = 0;
    for (; end < count && measurement_compare(&sorted[end], &sorted[first]) == 0; end++)
        if (!isnan(sorted[end].value))
            room[values++] = sorted[end].value;
    double value = values > 0 ? median_of(room, values) : NAN;
    cell_add(map, sorted[first].from, sorted[first].to, value);
    if (is_mutual(map->metric))
        cell_add(map, sorted[first].to, sorted[first].from, value);
    return end;
}

static const struct measured_host *host_at(const struct map *map, int place)
{
    return &map->measured->hosts[map->order[place]];
}

/* The hosts behind the switch of `host`, from it on, have the next places. */
static int places_give(struct map *map, int host, int next)
{
    const struct measured_host *hosts = map->measured->hosts;
    for (int h = host; h < map->measured->host_count; h++)
        if (map->place[h] < 0 && strcmp(hosts[h].switched, hosts[host].switched) == 0) {
            map->place[h] = next;
            map->order[next++] = h;
        }
    return next;
}

static void order_find(struct map *map)
{
    int hosts = map->measured->host_count, next = 0;
    map->order = new_array((size_t)hosts + 1, sizeof *map->order);
    map->place = new_array((size_t)hosts + 1, sizeof *map->place);
    for (int h = 0; h < hosts; h++)
        map->place[h] = -1;
    for (int h = 0; h < hosts; h++)
        if (map->place[h] < 0)
            next = places_give(map, h, next);
}

static void values_fill(struct map *map)
{
    const struct measured_metric *metric = map->metric;
    size_t cells = (size_t)map->side * (size_t)map->side;
    struct measurement *sorted = new_array(metric->count, sizeof *sorted);
    double *room = new_array(metric->count, sizeof *room);
    map->values = new_array(cells, sizeof *map->values);
    map->failed = new_array(cells, sizeof *map->failed);
    for (size_t i = 0; i < cells; i++)
        map->values[i] = NAN;
    if (metric->count > 0) {
        memcpy(sorted, metric->measurements, metric->count * sizeof *sorted);
        qsort(sorted, metric->count, sizeof *sorted, measurement_compare);
    }
    for (size_t i = 0; i < metric->count;)
        i = run_add(map, sorted, i, metric->count, room);
    free(sorted);
    free(room);
}

/* ---- colours ---- */

/* From the median, so that what is usual is faint, to the worst. */
static void range_find(struct map *map)
{
    double median = map->metric->median, worst;
    map->start = strcmp(map->metric->unit, "%") == 0 ? LOSS_START : 0;
    median = median > 0 || map->start > 0 ? median : 1;
    worst = median;
    for (int i = 0; i < map->side * map->side; i++)
        if (map->values[i] > 0 && metric_is_worse(map->metric, map->values[i], worst))
            worst = map->values[i];
    map->best = median;
    double started = median + map->start;
    map->worst = map->metric->more_is_worse ? fmax(worst, started * RANGE_LEAST - map->start)
                                            : fmin(worst, started / RANGE_LEAST - map->start);
}

/* By ratios. */
static int level_of(const struct map *map, double value)
{
    double best = map->best + map->start;
    double share = value + map->start > 0
                       ? log((value + map->start) / best) / log((map->worst + map->start) / best)
                       : 1;
    int level = (int)(share * RAMP_LEVELS);
    return level < 0 ? 0 : level >= RAMP_LEVELS ? RAMP_LEVELS - 1 : level;
}

/* ---- picture ---- */

/* The worst health of the hosts in a row. */
static enum health row_health(const struct map *map, int row)
{
    enum health health = HEALTH_GOOD;
    for (int h = row * map->shared; h < (row + 1) * map->shared && h < map->measured->host_count;
         h++)
        if (host_at(map, h)->health > health)
            health = host_at(map, h)->health;
    return health;
}

/* "h3", or "h3 to h6". */
static void row_put(FILE *out, const struct map *map, int row)
{
    int first = row * map->shared, last = first + map->shared - 1;
    if (last >= map->measured->host_count)
        last = map->measured->host_count - 1;
    text_put(out, "%s", host_at(map, first)->name);
    if (last > first)
        text_put(out, " to %s", host_at(map, last)->name);
}

static bool row_is_faulty(const struct map *map, int row)
{
    return row >= 0 && row < map->side && row_health(map, row) != HEALTH_GOOD;
}

/* Stands beside a faulty host, since colour alone tells nothing to some readers. */
static const char *mark_of(const struct map *map, int row)
{
    return row_is_faulty(map, row) ? health_signs[row_health(map, row)] : "";
}

/* The name of a row, where there is room for it; always of a faulty one. */
static void row_label_put(FILE *out, const struct map *map, int row)
{
    int step = (map->side + LABELS_MOST - 1) / LABELS_MOST, near = (int)(LINE / map->height);
    bool faulty = row_is_faulty(map, row), shown = faulty || row % step == 0;
    for (int other = row - near; other <= row + near && !faulty; other++)
        shown &= !row_is_faulty(map, other);
    if (!shown)
        return;
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" class=\"%s\">%s ", map->left - 6,
            TOP + (row + 0.5) * map->height + 4,
            faulty ? health_words[row_health(map, row)] : "muted", mark_of(map, row));
    row_put(out, map, row);
    fputs("</text>\n", out);
}

/* Narrow columns have marks only. */
static void column_label_put(FILE *out, const struct map *map, int column)
{
    bool faulty = row_is_faulty(map, column), named = map->named;
    if (!faulty && !named)
        return;
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"%s\">%s",
            map->left + (column + 0.5) * map->width, TOP - 8,
            faulty ? health_words[row_health(map, column)] : "muted", mark_of(map, column));
    fputs(named ? " " : "<title>", out);
    row_put(out, map, column);
    fputs(named ? "</text>\n" : "</title></text>\n", out);
}

static void cell_put(FILE *out, const struct map *map, int from, int to)
{
    size_t at = (size_t)from * (size_t)map->side + (size_t)to;
    double value = map->values[at], x = map->left + to * map->width, y = TOP + from * map->height;
    char number[NUMBER_TEXT_MOST], share[NUMBER_TEXT_MOST];
    bool failed = isnan(value);
    if (failed && !map->failed[at])
        return;
    fprintf(out, "<g class=\"cell %s", failed ? "failed" : "");
    if (!failed)
        fprintf(out, "h%d", level_of(map, value));
    fputs("\"><title>", out);
    row_put(out, map, from);
    fputs(" \u2192 ", out);
    row_put(out, map, to);
    if (failed)
        text_put(out, ": failed");
    else
        text_put(out, map->metric->median > 0 ? ": %s %s, %s of the median%s" : ": %s %s%s%s",
                 number_text(value, 3, number), map->metric->unit,
                 share_text(value, map->metric->median, share),
                 map->failed[at] ? "; some failed" : "");
    fprintf(out, "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", x + 0.5,
            y + 0.5, map->width - 1, map->height - 1);
    if (failed)
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\"/>", x + 2, y + 2,
                map->width - 4, map->height - 4, 4 - map->height, 4 - map->width, map->height - 4);
    else if (map->side <= NUMBERS_MOST)
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>",
                x + map->width / 2, y + map->height / 2 + 4, number_text(value, 3, number));
    fputs("</g>\n", out);
}

/* Lines between the hosts of different switches. */
static void switches_put(FILE *out, const struct map *map)
{
    double width = map->side * map->width, height = map->side * map->height;
    for (int row = 1; row < map->side; row++) {
        int first = row * map->shared;
        double x = map->left + row * map->width, y = TOP + row * map->height;
        if (strcmp(host_at(map, first)->switched, host_at(map, first - 1)->switched) != 0)
            fprintf(out, "<path class=\"border\" d=\"M%.1f %.1fh%.1fM%.1f %.1fv%.1f\"/>\n",
                    map->left, y, width, x, TOP, height);
    }
}

static bool switches_are_known(const struct map *map)
{
    bool known = false;
    for (int h = 0; h < map->measured->host_count; h++)
        known |= map->measured->hosts[h].switched[0] != '\0';
    return known;
}

/* The meaning of the colours. */
static void ramp_put(FILE *out, const struct map *map)
{
    char number[NUMBER_TEXT_MOST];
    fputs("<svg width=\"320\" height=\"36\" viewBox=\"0 0 320 36\" role=\"img\" "
          "aria-label=\"Colours of the map\">\n",
          out);
    for (int level = 0; level < RAMP_LEVELS; level++)
        fprintf(out, "<rect class=\"h%d\" x=\"%d\" y=\"0\" width=\"32\" height=\"14\"/>\n", level,
                level * 32);
    fputs("<text x=\"0\" y=\"30\">", out);
    text_put(out, "median, %s %s", number_text(map->best, 3, number), map->metric->unit);
    fprintf(out, "</text><text x=\"%d\" y=\"30\" text-anchor=\"end\">", RAMP_LEVELS * 32);
    text_put(out, "%s", number_text(map->worst, 3, number));
    fputs("</text>\n</svg>\n", out);
}

static void map_put(FILE *out, const struct map *map)
{
    char label[200];
    double width = map->left + map->side * map->width + 4,
           height = TOP + map->side * map->height + 4;
    snprintf(label, sizeof label, "%s of the pairs, from rows to columns",
             metric_title(map->metric));
    scroll_begin(out, label);
    fprintf(out,
            "<svg width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
            "aria-label=\"",
            width, height, width, height);
    markup_put(out, label);
    fputs("\">\n", out);
    for (int row = 0; row < map->side; row++) {
        row_label_put(out, map, row);
        column_label_put(out, map, row);
    }
    for (int from = 0; from < map->side; from++)
        for (int to = 0; to < map->side; to++)
            cell_put(out, map, from, to);
    switches_put(out, map);
    fputs("</svg>\n", out);
    scroll_end(out);
    ramp_put(out, map);
}

/* The size of cells, and room for the names of hosts. */
static void map_measure(struct map *map)
{
    size_t letters = 4;
    for (int h = 0; h < map->measured->host_count; h += map->shared)
        letters = strlen(map->measured->hosts[h].name) > letters
                      ? strlen(map->measured->hosts[h].name)
                      : letters;
    letters = map->shared > 1 ? 2 * letters + 4 : letters;
    map->left = LETTER * (double)(letters < 40 ? letters : 40) + 26;
    map->height = map->side <= NUMBERS_MOST ? 24 : map->side <= LABELS_MOST ? 16 : 8;
    map->width = map->side <= NUMBERS_MOST ? fmax(CELL_WIDTH, map->left - 10) : map->height;
    map->named = map->side <= NUMBERS_MOST &&
                 (map->width <= CELL_WIDTH || map->left + map->side * map->width <= NAMES_WIDTH);
    if (map->side <= NUMBERS_MOST && !map->named)
        map->width = CELL_WIDTH;
}

void heat_map_put(FILE *out, const struct measured *measured, const struct measured_metric *metric)
{
    int hosts = measured->host_count;
    struct map map = {
        .measured = measured, .metric = metric, .shared = (hosts + CELLS_MOST - 1) / CELLS_MOST};
    map.side = map.shared ? (hosts + map.shared - 1) / map.shared : 0;
    order_find(&map);
    values_fill(&map);
    range_find(&map);
    map_measure(&map);
    fprintf(out, "<figure%s>\n<figcaption>", map.side > LABELS_MOST ? " class=\"large\"" : "");
    text_put(out, "%s: from the host of a row to the host of a column.", metric_title(metric));
    text_put(out, " A cell without a colour was not measured%s.",
             map.side <= NUMBERS_MOST ? "" : "; a cell tells its numbers when it is pointed at");
    if (!map.named)
        text_put(out, " Columns have the order of the rows.");
    if (map.shared > 1)
        text_put(out, " There are %d hosts: a cell has the worst pair of %d hosts with %d.", hosts,
                 map.shared, map.shared);
    if (switches_are_known(&map))
        text_put(out, " Lines are between the hosts of different switches.");
    fputs("</figcaption>\n", out);
    map_put(out, &map);
    fputs("</figure>\n", out);
    free(map.order);
    free(map.place);
    free(map.values);
    free(map.failed);
}
