/*
 * load_svg.c - the load of links as a picture.
 */
#include "cli/predict/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "cli/report/report.h"
#include "cli/plan/plan.h"
#include "base/io/io.h"

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

/* What a link makes of a step, in multiples of what the ends alone make of it. */
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

/* What the colours mean. */
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
    struct load_map *map = calloc(1, sizeof *map);
    char *body = NULL;
    size_t length = 0;
    if (!map)
        return fail(STATUS_ERROR, "not enough memory for the picture: free some");
    map->load = load;
    map_measure(map);
    map->out = open_memstream(&body, &length);
    if (map->out)
        body_put(map, title, words);
    bool good = map->out && fclose(map->out) == 0;
    const struct svg_frame frame = {title, style,
                                    fmax(980, LEFT + map->columns * map->column + BAR + 160),
                                    TOP + map->rows * ROW + 24};
    enum status status = svg_put(&frame, good ? body : NULL, path);
    free(body);
    free(map);
    return status;
}
