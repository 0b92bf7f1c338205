/*
 * tune_table.h - prints the winners of `cctest tune` for people.
 */
#ifndef CCTEST_CLI_TUNE_TUNE_TABLE_H
#define CCTEST_CLI_TUNE_TUNE_TABLE_H

#include <stdio.h>

#include "tune/state.h"

void tune_table_begin(FILE *out, const struct tuner *tuner);
void tune_table_end(FILE *out, const struct tuner *tuner, enum status status);

#endif
