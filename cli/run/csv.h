/*
 * csv.h - prints a run as comma-separated values.
 */
#ifndef CCTEST_CLI_RUN_CSV_H
#define CCTEST_CLI_RUN_CSV_H

#include "base/io/output.h"
#include "run/results/report.h"

/* NULL: out of memory, which is recorded. The caller frees it with csv_close(). */
struct report *csv_open(const char *path, struct patience *patience, struct outcome *outcome);
/* The same for raw samples, one line each, in place of results. */
struct report *csv_open_samples(const char *path, struct patience *patience,
                                struct outcome *outcome);
void csv_close(struct report *report);

/* Before there are ranks, in the process that owns the report: opens the file. So a path that
 * cannot be written is found at once. */
enum status csv_announce(struct report *report);

#endif
