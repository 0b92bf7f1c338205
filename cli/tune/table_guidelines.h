/*
 * table_guidelines.h - the lines of a run that are slower than others of it that do their work, below
 * the table.
 */
#ifndef CCTEST_CLI_TUNE_TABLE_GUIDELINES_H
#define CCTEST_CLI_TUNE_TABLE_GUIDELINES_H

#include "cli/run/table_ranking.h"

/* Prints a line for each violation of a guideline (tune/guidelines.h) by the best algorithm of a
 * collective and size, the gravest first. Prints nothing where there is none. */
void guidelines_print(FILE *out, const struct job *job, const struct ranked *cells, size_t count);

#endif
