/*
 * internal.h - for the files of cli/report/ alone.
 */
#ifndef CCTEST_CLI_REPORT_INTERNAL_H
#define CCTEST_CLI_REPORT_INTERNAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "accept/accept.h"
#include "base/text.h"
#include "cli/report/report.h"

/* ---- Pieces of an HTML page: sections with their links, tables, numbers.
 *
 * Everything is escaped; a page needs no other file and no script.
 * ---- */

/* A page in the making: two texts that grow. */
struct page {
    FILE *body;
    FILE *links; /* to the sections */
    int sections;
};

/* Text as printf() makes it, escaped. */
void text_put(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins a section with a heading: of a document (h2), or inside one (h3). */
void document_begin(struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void section_begin(struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void section_end(struct page *page);

/* An element with text: "<p class=note>". `element`: as it stands in the tag, with attributes. */
void element_put(FILE *out, const char *element, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A row of a list of facts (dl); nothing where the value is empty. */
void fact_put(FILE *out, const char *name, const char *value);

/* The facts of how a document was made: its date, duration, command line and program, and how its
 * `members` met, "ranks" or "agents". What the document lacks is left out. */
void origin_put(FILE *out, const json_t *document, const char *members);

/* A table in a box that scrolls by itself. `columns`: their titles, ended by NULL; a title that
 * begins with '#' is that of a column of numbers. */
void table_begin(FILE *out, const char *caption, const char *const *columns);
void table_end(FILE *out);

/* A part that is closed at first, since it may be long or wide. */
void details_begin(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void details_end(FILE *out);

/* A box that scrolls sideways by itself, also by the keyboard. */
void scroll_begin(FILE *out, const char *label);
void scroll_end(FILE *out);

/* "25%", or "" where that is no number. Returns `text`. */
const char *share_text(double part, double whole, char text[NUMBER_TEXT_MOST]);

/* ---- acceptance_part.c ---- */

/* Verdict, findings, heat maps, distributions, stages and hosts. */
void acceptance_put(struct page *page, const json_t *document);

/* ---- changes.c ---- */

/* The differences between two runs: their options, and the lines that changed beyond noise. */
void changes_put(struct page *page, const json_t *before, const char *before_name,
                 const json_t *after, const char *after_name);

/* ---- chart.c ---- */

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

/* ---- The algorithms of a run side by side: their curves, and the winner of each size. ---- */

/* A section for the lines of this group. */
void contest_put(struct page *page, const struct run_line *lines, size_t count, const char *group);

/* The fastest line of a group at each of its sizes, of those that are right: *count of them, by
 * size. NULL: out of memory. The caller frees the list. */
const struct run_line **winners_find(const struct run_line *lines, size_t count, const char *group,
                                     size_t *winners);

/* "12.3", with the interval as its title. */
void median_cell(FILE *out, const struct run_line *line);

/* ---- What the JSON of an acceptance run has: its hosts, and its measurements by metric. ---- */

struct measured_host {
    const char *name;
    enum health health;
    bool lost;
    const char *switched; /* the switch that it is cabled to; "": not known */
};

/* A measurement of a host, or from a host to another one. */
struct measurement {
    int from, to;     /* hosts; `to` -1: of one host */
    int rail;         /* of a pair */
    const char *part; /* the NIC port or GPU that was measured; "": none is named */
    double value;     /* NAN: it failed, and why: */
    const char *outcome, *stage;
};

struct measured_metric {
    const char *name, *unit;
    bool of_pairs;
    bool more_is_worse; /* a time */
    struct measurement *measurements;
    size_t count;
    /* Each host's median of its values, without those of the stage isolate; for pairs the worse of
     * those that it sent and those that it received; NAN: it has none. */
    double *of_host;
    double median; /* of these: where one host of four is slow, half of all values are; NAN: none */
};

#define METRICS_MOST 32 /* those beyond are left out */

/* All texts belong to the document. */
struct measured {
    struct measured_host *hosts;
    int host_count;
    struct measured_metric metrics[METRICS_MOST];
    int metric_count;
};

extern const char *const health_signs[]; /* "?" and its like, of each enum health */

/* Is a value worse than another? */
bool metric_is_worse(const struct measured_metric *metric, double a, double b);

/* A metric as a heading: "Bandwidth one way". */
const char *metric_title(const struct measured_metric *metric);

/* ---- The values of a metric as a histogram, with its median and the faulty hosts. ---- */

void distribution_put(FILE *out, const struct measured *measured,
                      const struct measured_metric *metric);

/* ---- The pairs of hosts as a map: rows send, columns receive. ---- */

/* Draws a metric of pairs. A cell has the median of what its pair measured; where there are several
 * rails, or several hosts in a cell, the worst. */
void heat_map_put(FILE *out, const struct measured *measured, const struct measured_metric *metric);

/* ---- run_part.c ---- */

/* The command and the hosts of a run; for each collective, type and operation the curves and the
 * winners. */
void run_put(struct page *page, const json_t *document);

/* The value of an option, as the command line has it. */
void option_text_put(FILE *out, const json_t *value);

#define SERIES_STYLES 6 /* colours of curves: the classes s0 ... */
#define RAMP_LEVELS   7 /* colours of a heat map: the classes h0 ... */

#endif
