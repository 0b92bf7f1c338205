/*
 * tune.h - the interface of cli/tune/.
 */
#ifndef CCTEST_CLI_TUNE_TUNE_H
#define CCTEST_CLI_TUNE_TUNE_H

#include "cli/run/run.h"

/* ---- Tables of the JSON of `cctest guidelines`. ---- */

extern const struct json_field guidelines_fields[], violation_fields[], timed_fields[];

/* ---- The lines of a run that are slower than others of it that do their work, below
 * the table.
 * ---- */

/* Prints a line for each violation of a guideline (tune/tune.h) by the best algorithm of a
 * collective and size, the worst first. Prints nothing where there is none. */
void guidelines_print(FILE *out, const struct job *job, const struct ranked *cells, size_t count);

#endif
