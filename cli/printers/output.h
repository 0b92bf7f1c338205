/*
 * output.h - files that are whole at any moment, and what JSON documents share.
 */
#ifndef CCTEST_CLI_PRINTERS_OUTPUT_H
#define CCTEST_CLI_PRINTERS_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "run/job.h"

/* Writes `length` bytes to `path`: "-" is standard output; a regular file, or one that is not there
 * yet, is replaced at once by rename; anything else (a device, a FIFO) is written to, as long as it
 * takes something every `patience` milliseconds (-1: however long that takes). STATUS_ERROR, with
 * the reason, if that fails. */
enum status output_put(const char *text, size_t length, const char *path, int patience);
/* The same for a document. */
enum status json_put(const json_t *document, const char *path, int patience);

/* Opens `path`, and makes it if it is not there. A FIFO without a reader does not block: ENXIO,
 * after a moment. NULL with errno. */
FILE *output_open(const char *path, bool append);
/* The same before there are ranks, to append to it. On failure *file is NULL and the reason is
 * recorded: STATUS_USAGE if another name is needed, STATUS_ERROR if the file can be made usable. */
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

/* How printing went, for the process that started the printers. It may be another one: a local
 * rank 0 is a child. */
struct outcome {
    _Atomic bool ended;  /* end() was called: all is written */
    _Atomic bool begun;  /* some JSON may be written to a file that cannot be replaced */
    _Atomic bool failed; /* something could not be written */
};

#endif
