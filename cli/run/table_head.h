/*
 * table_head.h - the head of the table: what runs where, and all that is the same for every line.
 */
#ifndef CCTEST_CLI_RUN_TABLE_HEAD_H
#define CCTEST_CLI_RUN_TABLE_HEAD_H

#include "cli/run/table_columns.h"
#include "run/results/report.h"

void head_print(FILE *out, const struct job *job, const struct participants *participants,
                const struct columns *columns);

#endif
