/*
 * report.h - the interface of cli/report/.
 */
#ifndef CCTEST_CLI_REPORT_REPORT_H
#define CCTEST_CLI_REPORT_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "tune/tune.h"

/* ---- The lines of a run's JSON, in groups that can be compared: one collective, with one
 * type, operation and root.
 * ---- */

#define SERIES_TEXT_MOST 160

struct run_line {
    char group[SERIES_TEXT_MOST];     /* "allreduce float sum" */
    char algorithm[SERIES_TEXT_MOST]; /* "bruck:radix=4"; "auto" */
    double bytes;
    double p50, low, high; /* us: the median and its interval of 95%; NAN: there is none */
    double busbw;          /* GB/s; NAN: it has none */
    bool wrong;
};

/* In the document's order; those without a time are left out. NULL: out of memory. The caller frees
 * it. */
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

/* ---- A page of HTML from documents that `--json` writes. ---- */

#define PAGE_DOCUMENTS_MOST 16

/* Has a page something to show of this document? It is one of a run or of `accept`. */
bool page_takes(const json_t *document);

/* Writes one page of `count` documents, 1 to PAGE_DOCUMENTS_MOST, to `path`, as output_put() does.
 * `names`: what the reader knows them by, as their files. Runs are compared with the first of them.
 * STATUS_ERROR if it cannot be written, or the memory does not suffice. */
enum status page_write(json_t *const *documents, const char *const *names, int count,
                       const char *path);

/* ---- The "results" of a document of JSON, as lines that can be compared. ---- */

/* Lines of some documents, with their texts. */
struct timed_lines {
    struct timed_line *lines;
    size_t count, left_out; /* results of which lines were made, and of which none could be */
    struct arena *texts;
};

/* Could the document have results? */
bool document_has_results(const json_t *document);

/* Adds the results of a document that have a time and no wrong data. `beside`: is part of what
 * lines must have in common, such as "on n1"; "": nothing. The caller frees the lines with
 * timed_lines_free(), also after an error; zeroed lines are empty. STATUS_ERROR, after fail(): out
 * of memory. */
enum status timed_lines_add(struct timed_lines *lines, const json_t *document, const char *beside);
void timed_lines_free(struct timed_lines *lines);

#endif
