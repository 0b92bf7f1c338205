/*
 * table.h - prints a run as a table for people.
 */
#ifndef CCTEST_CLI_RUN_TABLE_H
#define CCTEST_CLI_RUN_TABLE_H

#include "base/io/output.h"
#include "run/results/report.h"

/* To the descriptor `fd`. Standard error takes it where standard output has other results: what
 * cannot be written there is no failure. NULL: out of memory, which is recorded. The caller frees
 * it with table_close(). */
struct report *table_open(int fd, struct patience *patience, struct outcome *outcome);
void table_close(struct report *report);

/* The last line: how the job ended. */
void table_conclude(struct report *report, enum status status);

#endif
