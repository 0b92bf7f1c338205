/*
 * table_profile.h - prints the ranks' time by activity, below a line of the table.
 */
#ifndef CCTEST_CLI_RUN_TABLE_PROFILE_H
#define CCTEST_CLI_RUN_TABLE_PROFILE_H

#include <stdio.h>

#include "run/results/report.h"

/* Prints nothing if no profile was asked for. */
void profile_print(FILE *out, const struct job *job, const struct result *result);

#endif
