/*
 * table_prediction.h - prints what a model says of a line: beside what was measured, or alone.
 */
#ifndef CCTEST_CLI_PREDICT_TABLE_PREDICTION_H
#define CCTEST_CLI_PREDICT_TABLE_PREDICTION_H

#include <stdio.h>

#include "run/results/report.h"

/* The titles of its columns (row 0 or 1), and a line's. Nothing without --model. */
void prediction_titles_print(FILE *out, const struct job *job, int row);
void prediction_columns_print(FILE *out, const struct job *job, const struct result *result);

/* Below a line: in which of several steps measured and predicted times part most. Nothing if the steps
 * are not known. */
void prediction_steps_print(FILE *out, const struct result *result);

#endif
