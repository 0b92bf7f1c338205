/*
 * table_sampling.h - prints how sure the time of a line is.
 */
#ifndef CCTEST_CLI_RUN_TABLE_SAMPLING_H
#define CCTEST_CLI_RUN_TABLE_SAMPLING_H

#include <stdio.h>

#include "run/results/report.h"

/* Columns of -n auto: iterations, the interval of the median, and why the line ended. Without it
 * they print nothing. `row`: 0 or 1 of the titles. */
void sampling_titles_print(FILE *out, const struct job *job, int row);
void sampling_columns_print(FILE *out, const struct job *job, const struct result *result);

/* Sentences below a line whose samples are not of one kind: two modes, a trend. */
void samples_remark(FILE *out, const struct result *result);

#endif
