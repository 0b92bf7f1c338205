/*
 * chart.c - curves over the size of messages.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/io/io.h"

#define WIDTH  400.0
#define HEIGHT 270.0
#define LEFT   46.0
#define RIGHT  14.0
#define TOP    22.0
#define BOTTOM 30.0
#define STEPS  5 /* lines across, about */
#define LABELS 7 /* sizes below, at most */

struct scale {
    double x0, x1; /* log2 of bytes */
    double y0, y1; /* log10 of values if by_ratio */
    bool by_ratio;
};

static double x_of(const struct scale *scale, double bytes)
{
    double share = (log2(fmax(bytes, 1)) - scale->x0) / (scale->x1 - scale->x0);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct scale *scale, double y)
{
    double value = scale->by_ratio ? log10(y) : y;
    return HEIGHT - BOTTOM -
           (value - scale->y0) / (scale->y1 - scale->y0) * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, at least `value`. */
static double round_up(double value)
{
    double power = pow(10, floor(log10(value))), part = value / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static bool scale_find(const struct chart *chart, struct scale *scale)
{
    double least = INFINITY, most = 0;
    *scale = (struct scale){.x0 = INFINITY, .x1 = -INFINITY, .by_ratio = chart->by_ratio};
    for (int s = 0; s < chart->count; s++)
        for (int i = 0; i < chart->series[s].count; i++) {
            const struct chart_point *point = &chart->series[s].points[i];
            if (!(point->y > 0))
                continue;
            double x = log2(fmax(point->bytes, 1));
            scale->x0 = fmin(scale->x0, x);
            scale->x1 = fmax(scale->x1, x);
            least = fmin(least, point->y);
            most = fmax(most, point->y);
        }
    if (most == 0)
        return false;
    if (scale->x1 - scale->x0 < 1e-9) { /* one size: in the middle */
        scale->x0 -= 1;
        scale->x1 += 1;
    }
    scale->y0 = chart->by_ratio ? floor(2 * log10(least)) / 2 : 0;
    scale->y1 = chart->by_ratio ? ceil(2 * log10(most)) / 2 : round_up(most / STEPS) * STEPS;
    if (scale->y1 <= scale->y0)
        scale->y1 = scale->y0 + 0.5;
    return true;
}

/* ---- axes ---- */

static void level_put(FILE *out, const struct scale *scale, double value)
{
    char number[NUMBER_TEXT_MOST];
    double y = y_of(scale, value);
    if (y < TOP - 1 || y > HEIGHT - BOTTOM + 1)
        return;
    snprintf(number, sizeof number, "%g", value);
    fprintf(out,
            "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/><text class=\"muted\" x=\"%.1f\" "
            "y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            LEFT, y, WIDTH - RIGHT, LEFT - 6, y + 4, number);
}

static void levels_put(FILE *out, const struct scale *scale)
{
    if (!scale->by_ratio) {
        double step = round_up(scale->y1 / STEPS * 0.999999);
        for (int i = 0; i * step <= scale->y1 * 1.000001; i++)
            level_put(out, scale, i * step);
        return;
    }
    bool fine = scale->y1 - scale->y0 <= 2;
    for (int power = (int)floor(scale->y0); power <= (int)ceil(scale->y1); power++) {
        level_put(out, scale, pow(10, power));
        if (fine) {
            level_put(out, scale, 2 * pow(10, power));
            level_put(out, scale, 5 * pow(10, power));
        }
    }
}

/* Sizes that are powers of two, as many as there is room for. */
static void sizes_put(FILE *out, const struct scale *scale)
{
    int first = (int)ceil(scale->x0 - 1e-9), last = (int)floor(scale->x1 + 1e-9);
    int step = (last - first + LABELS) / LABELS;
    for (int power = first; power <= last; power += step > 0 ? step : 1) {
        char size[BYTES_TEXT_MOST];
        double x = x_of(scale, exp2(power));
        fprintf(out,
                "<path class=\"axis\" d=\"M%.1f %.1fv5\"/><text class=\"muted\" x=\"%.1f\" "
                "y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 19, bytes_text(exp2(power), size));
    }
}

/* ---- curves ---- */

/* A shape for each style, so that colour is not all that tells curves apart. */
static void mark_put(FILE *out, double x, double y, int style)
{
    static const char *const shapes[SERIES_STYLES] = {
        "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", "m-3 -3h6v6h-6z",  "m0 -4l4 7h-8z",
        "m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",          "m-4 0h8m-4 -4v8", "m-3 -3l6 6m0 -6l-6 6"};
    fprintf(out, "<path class=\"mark\" d=\"M%.1f %.1f%s\"/>", x, y, shapes[style]);
}

static void class_put(FILE *out, int style)
{
    if (style >= 0)
        fprintf(out, "<g class=\"series s%d\">", style);
    else
        fputs("<g class=\"series rest\">", out);
}

static void point_put(FILE *out, const struct scale *scale, const struct chart_point *point,
                      const struct chart_series *series, const char *unit)
{
    char number[NUMBER_TEXT_MOST], size[BYTES_TEXT_MOST];
    double x = x_of(scale, point->bytes), y = y_of(scale, point->y);
    fputs("<g><title>", out);
    text_put(out, "%s, %s: %s %s", series->name, bytes_text(point->bytes, size),
             number_text(point->y, 3, number), unit);
    if (point->low > 0 && point->high >= point->low) {
        text_put(out, " (%s", number_text(point->low, 3, number));
        text_put(out, " to %s)", number_text(point->high, 3, number));
    }
    fputs("</title>", out);
    if (point->low > 0 && point->high >= point->low)
        fprintf(out, "<path d=\"M%.1f %.1fV%.1f\"/>", x, fmax(TOP, y_of(scale, point->high)),
                fmin(HEIGHT - BOTTOM, y_of(scale, point->low)));
    mark_put(out, x, y, series->style);
    fputs("</g>", out);
}

static void series_put(FILE *out, const struct scale *scale, const struct chart_series *series,
                       const char *unit)
{
    bool begun = false;
    class_put(out, series->style);
    fputs("<title>", out);
    markup_put(out, series->name);
    fputs("</title><path d=\"", out);
    for (int i = 0; i < series->count; i++)
        if (series->points[i].y > 0) {
            fprintf(out, "%s%.1f %.1f", begun ? "L" : "M", x_of(scale, series->points[i].bytes),
                    y_of(scale, series->points[i].y));
            begun = true;
        }
    fputs("\"/>", out);
    for (int i = 0; i < series->count; i++)
        if (series->points[i].y > 0 && series->style >= 0)
            point_put(out, scale, &series->points[i], series, unit);
    fputs("</g>\n", out);
}

void chart_put(FILE *out, const struct chart *chart)
{
    struct scale scale;
    if (!scale_find(chart, &scale))
        return;
    fputs("<figure>\n<figcaption>", out);
    text_put(out, "%s, %s", chart->title, chart->unit);
    fprintf(out,
            "</figcaption>\n<svg class=\"wide\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
            "aria-label=\"",
            WIDTH, HEIGHT);
    text_put(out, "%s over the size of messages", chart->title);
    fputs("\">\n", out);
    levels_put(out, &scale);
    sizes_put(out, &scale);
    for (int rest = 1; rest >= 0; rest--) /* those with a colour lie above */
        for (int s = chart->count - 1; s >= 0; s--)
            if ((chart->series[s].style < 0) == rest)
                series_put(out, &scale, &chart->series[s], chart->unit);
    fputs("</svg>\n</figure>\n", out);
}

void legend_put(FILE *out, const struct chart_series *series, int count)
{
    fputs("<ul class=\"legend\">\n", out);
    for (int s = 0; s < count; s++) {
        if (series[s].style < 0)
            continue;
        fputs("<li><svg width=\"30\" height=\"12\" aria-hidden=\"true\">", out);
        class_put(out, series[s].style);
        fputs("<path d=\"M1 6H29\"/>", out);
        mark_put(out, 15, 6, series[s].style);
        fputs("</g></svg>", out);
        markup_put(out, series[s].name);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}
