/*
 * table_gpus.h - which ranks use which GPU, in front of the table.
 */
#ifndef CCTEST_CLI_RUN_TABLE_GPUS_H
#define CCTEST_CLI_RUN_TABLE_GPUS_H

#include <stdio.h>

#include "run/results/report.h"

/* A line for each GPU that has a rank's memory: for a few of many, unless `all`. Prints nothing
 * where the host has it. */
void gpus_print(FILE *out, const struct participants *participants, bool all);

#endif
