/*
 * distribution.c - the values of a metric as a histogram.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/list.h"
#include "base/stats/stats.h"
#include "base/text.h"

#define BINS       40
#define WIDTH      400.0
#define MARGIN     12.0
#define TOP        20.0 /* above the bars: the median's label */
#define BARS       70.0 /* the highest bar */
#define LINE       16.0 /* of text */
#define NAMES_MOST 6    /* faulty hosts with a line each */

struct histogram {
    double least, most;
    struct spread spread;
    size_t bins[BINS], highest, values, failed;
};

static bool histogram_fill(struct histogram *histogram, const struct measured_metric *metric)
{
    double *values = new_array(metric->count + 1, sizeof *values);
    *histogram = (struct histogram){.least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < metric->count; i++) {
        double value = metric->measurements[i].value;
        if (isnan(value)) {
            histogram->failed++;
            continue;
        }
        values[histogram->values++] = value;
        histogram->least = fmin(histogram->least, value);
        histogram->most = fmax(histogram->most, value);
    }
    double width = histogram->most - histogram->least;
    for (size_t i = 0; i < histogram->values; i++) {
        int bin = width > 0 ? (int)((values[i] - histogram->least) / width * BINS) : BINS / 2;
        size_t *at = &histogram->bins[bin < BINS ? bin : BINS - 1];
        if (++*at > histogram->highest)
            histogram->highest = *at;
    }
    histogram->spread = spread_of(values, histogram->values);
    free(values);
    return histogram->values > 0;
}

static double place_of(const struct histogram *histogram, double value)
{
    double width = histogram->most - histogram->least;
    double share = width > 0 ? (value - histogram->least) / width : 0.5;
    return MARGIN + share * (WIDTH - 2 * MARGIN);
}

/* Text that stays inside the picture. */
static void mark_put(FILE *out, double x, double y, const char *class, const char *name,
                     const char *between, const char *number)
{
    const char *anchor = x < WIDTH / 3 ? "start" : x > 2 * WIDTH / 3 ? "end" : "middle";
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", class, x, y,
            anchor);
    text_put(out, "%s%s%s", name, between, number);
    fputs("</text>\n", out);
}

/* The faulty hosts below the bars: a tick at the median of each, and its name. */
static int faulty_put(FILE *out, const struct measured *measured,
                      const struct measured_metric *metric, const struct histogram *histogram)
{
    int put = 0;
    char number[NUMBER_TEXT_MOST];
    for (int h = 0; h < measured->host_count && put < NAMES_MOST; h++) {
        const struct measured_host *host = &measured->hosts[h];
        double value = host->health == HEALTH_GOOD ? NAN : metric->of_host[h];
        if (isnan(value))
            continue;
        double x = place_of(histogram, value), y = TOP + BARS + (put + 1) * LINE;
        fprintf(out, "<path class=\"tick\" d=\"M%.1f %.1fV%.1f\"/>\n", x, TOP + BARS, y - 12);
        mark_put(out, x, y, health_words[host->health], host->name, ": ",
                 number_text(value, 3, number));
        put++;
    }
    return put;
}

static void bars_put(FILE *out, const struct histogram *histogram)
{
    double step = (WIDTH - 2 * MARGIN) / BINS;
    double width = (histogram->most - histogram->least) / BINS;
    char from[NUMBER_TEXT_MOST], to[NUMBER_TEXT_MOST];
    for (int bin = 0; bin < BINS; bin++) {
        double height = BARS * (double)histogram->bins[bin] / (double)histogram->highest;
        if (height > 0)
            fprintf(out,
                    "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
                    "<title>%zu from %s to %s</title></rect>\n",
                    MARGIN + bin * step, TOP + BARS - height, step - 1, height,
                    histogram->bins[bin], number_text(histogram->least + bin * width, 3, from),
                    number_text(histogram->least + (bin + 1) * width, 3, to));
    }
    fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>\n", MARGIN, TOP + BARS,
            WIDTH - MARGIN);
}

static void picture_put(FILE *out, const struct measured *measured,
                        const struct measured_metric *metric, const struct histogram *histogram)
{
    char number[NUMBER_TEXT_MOST];
    double middle = place_of(histogram, histogram->spread.median), bottom;
    int faulty = 0;
    for (int h = 0; h < measured->host_count && faulty < NAMES_MOST; h++)
        faulty += measured->hosts[h].health != HEALTH_GOOD;
    bottom = TOP + BARS + (faulty + 1) * LINE;
    fprintf(out, "<svg class=\"wide\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", WIDTH,
            bottom + 4);
    markup_put(out, metric_title(metric));
    fputs(": histogram\">\n", out);
    bars_put(out, histogram);
    fprintf(out, "<path class=\"median\" d=\"M%.1f %.1fV%.1f\"/>\n", middle, TOP - 4, TOP + BARS);
    mark_put(out, middle, TOP - 8, "", "median", " ",
             number_text(histogram->spread.median, 3, number));
    mark_put(out, MARGIN, bottom, "muted", "", "", number_text(histogram->least, 3, number));
    if (histogram->most > histogram->least)
        mark_put(out, WIDTH - MARGIN, bottom, "muted", "", "",
                 number_text(histogram->most, 3, number));
    faulty_put(out, measured, metric, histogram);
    fputs("</svg>\n", out);
}

void distribution_put(FILE *out, const struct measured *measured,
                      const struct measured_metric *metric)
{
    struct histogram histogram;
    char median[NUMBER_TEXT_MOST], deviation[NUMBER_TEXT_MOST];
    if (!histogram_fill(&histogram, metric))
        return;
    fputs("<figure>\n<figcaption>", out);
    text_put(out, "%s, %s: %zu value%s, median %s, spread %s", metric_title(metric), metric->unit,
             histogram.values, plural(histogram.values),
             number_text(histogram.spread.median, 3, median),
             number_text(histogram.spread.deviation, 3, deviation));
    if (histogram.failed > 0)
        text_put(out, "; %zu failed", histogram.failed);
    fputs("</figcaption>\n", out);
    picture_put(out, measured, metric, &histogram);
    fputs("</figure>\n", out);
}
