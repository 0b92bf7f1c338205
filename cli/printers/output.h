/*
 * output.h - where results go besides the table: files that are whole at any moment.
 */
#ifndef CCTEST_CLI_PRINTERS_OUTPUT_H
#define CCTEST_CLI_PRINTERS_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "measure/report.h"

/* Writes `length` bytes to `path`: "-" is standard output; a regular file, or one that is not there
 * yet, is replaced at once by rename; anything else (a device, a FIFO) is written to, as long as it
 * takes something every `patience` milliseconds (-1: however long that takes). STATUS_ERROR, with
 * the reason, if that fails. */
enum status output_put(const char *text, size_t length, const char *path, int patience);
/* The same for a document. */
enum status json_put(const json_t *document, const char *path, int patience);

/* Opens `path`, and makes it if it is not there. A FIFO that nobody reads does not hold up who writes:
 * ENXIO, after a moment. NULL with errno. */
FILE *output_open(const char *path, bool append);
/* Before there are ranks: the same, to append to it. Else *file is NULL, and that is said:
 * STATUS_USAGE if another name must be given, STATUS_ERROR if something must be done about it. */
enum status output_try(const char *path, FILE **file);

/* Is there anything but a regular file at `path`? It cannot be replaced, only written to once. */
bool output_is_stream(const char *path);

/* The fields every document begins with. NULL: out of memory. */
json_t *json_document(void);

/* The strings of a NULL-ended list of at most `most`. */
json_t *json_strings(const char *const *strings, int most);

/* The options of an algorithm as chosen: numbers, words, the groups' sizes (null: not given), and
 * for a part {"algorithm", "options"}. */
json_t *json_choice(const struct choice *choice);

/* The options as resolved, by long name. */
json_t *json_options(const struct job *job, unsigned command);

/* What the printers tell the process that started them, which may be another: a local rank 0 is a
 * child. */
struct outcome {
    _Atomic bool ended;  /* end() was called: all is written */
    _Atomic bool begun;  /* JSON to what cannot be replaced: some of it may be written */
    _Atomic bool failed; /* something could not be written */
};

/* Printers. Each is freed with report_free(); NULL: out of memory (said). */
struct report *table_open(FILE *out, struct outcome *outcome);
struct report *csv_open(const char *path, struct outcome *outcome);
struct report *json_open(const char *path, struct outcome *outcome);
void table_close(struct report *report);
void csv_close(struct report *report);
void json_close(struct report *report);

/* What the ranking needs of a result. */
struct ranked {
    int choice;
    size_t asked, bytes; /* of the sweep; as it became */
    double time, busbw;  /* us; GB/s */
    bool wrong;
};

/* For the table: who was how fast, in which place, where several algorithms ran. `cells` in the
 * order of the results. Prints nothing where there is nothing to compare. */
void ranking_print(FILE *out, const struct job *job, const struct ranked *cells, size_t count);

/* For the table: where the ranks' time went in the iterations of a line. Prints nothing if that
 * was not asked for. */
void profile_print(FILE *out, const struct job *job, const struct result *result);

/* Before there are ranks, where this process knows that the report is its own: writes the document
 * with status "running", opens the file; so a path that cannot be written is found at once. */
enum status json_announce(struct report *report, const struct job *job);
enum status csv_announce(struct report *report);

/* Nothing was started: a document that says why (the recorded failure). Best effort. */
void json_refuse(const char *path, enum status status);

/* Rank 0 is gone without an end(): completes the document that it left behind. */
void json_abandoned(struct report *report, const struct job *job, enum status status);

#endif
