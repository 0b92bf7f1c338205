/*
 * results.h - the "results" of a document of JSON, as lines that can be compared.
 */
#ifndef CCTEST_CLI_REPORT_RESULTS_H
#define CCTEST_CLI_REPORT_RESULTS_H

#include <jansson.h>
#include <stdbool.h>

#include "tune/guidelines.h"

/* Lines of some documents, with their texts. */
struct timed_lines {
    struct timed_line *lines;
    size_t count, left_out; /* results of which lines were made, and of which none could be */
    struct line_texts *texts;
};

/* Could the document have results? */
bool document_has_results(const json_t *document);

/* Adds the results of a document that have a time and no wrong data. `beside`: is part of what lines
 * must have in common, such as "on n1"; "": nothing. STATUS_ERROR: out of memory. The caller frees the
 * lines with timed_lines_free(), also after an error; zeroed lines are empty. */
enum status timed_lines_add(struct timed_lines *lines, const json_t *document, const char *beside);
void timed_lines_free(struct timed_lines *lines);

#endif
