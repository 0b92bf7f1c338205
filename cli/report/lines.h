/*
 * lines.h - the lines of a run's JSON, in groups that can be compared: one collective, with one
 * type, operation and root.
 */
#ifndef CCTEST_CLI_REPORT_LINES_H
#define CCTEST_CLI_REPORT_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SERIES_TEXT_MOST 160

struct run_line {
    char group[SERIES_TEXT_MOST];     /* "allreduce float sum" */
    char algorithm[SERIES_TEXT_MOST]; /* "bruck:radix=4"; "auto" */
    double bytes;
    double p50, low, high; /* us: the median and its interval of 95%; NAN: there is none */
    double busbw;          /* GB/s; NAN: it has none */
    bool wrong;
};

/* In the document's order; those without a time are left out. NULL: out of memory. The caller frees it. */
struct run_line *lines_read(const json_t *document, size_t *count);

/* How sure is it that two medians differ? */
enum certainty {
    CERTAINTY_UNKNOWN, /* one has no interval: too few iterations */
    CERTAINTY_NOISE,   /* the intervals meet, or the medians differ by 2% at most */
    CERTAINTY_SURE,
};
enum certainty line_certainty(const struct run_line *a, const struct run_line *b);
extern const char *const certainty_words[];

/* The line of this group, algorithm and size; NULL: there is none. */
const struct run_line *line_find(const struct run_line *lines, size_t count,
                                 const struct run_line *like);

/* "64K", or "1000". Returns `text`. */
#define BYTES_TEXT_MOST 32
const char *bytes_text(double bytes, char text[BYTES_TEXT_MOST]);

#endif
