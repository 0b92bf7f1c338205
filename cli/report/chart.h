/*
 * chart.h - curves over the size of messages.
 */
#ifndef CCTEST_CLI_REPORT_CHART_H
#define CCTEST_CLI_REPORT_CHART_H

#include <stdbool.h>
#include <stdio.h>

struct chart_point {
    double bytes, y;
    double low, high; /* an interval around y; NAN: none */
};

struct chart_series {
    const char *name;
    int style; /* below SERIES_STYLES: a colour and a mark; -1: one of many, thin */
    const struct chart_point *points;
    int count;
};

struct chart {
    const char *title, *unit;
    bool by_ratio; /* the heights are logarithms; else linear from 0 */
    const struct chart_series *series;
    int count;
};

/* Draws it; sizes at the bottom, by their logarithm. Nothing where there is no point. */
void chart_put(FILE *out, const struct chart *chart);

/* The series that have a style, as a list of their marks and names. */
void legend_put(FILE *out, const struct chart_series *series, int count);

#endif
