/*
 * table.h - prints a run as a table for people.
 */
#ifndef CCTEST_CLI_PRINTERS_TABLE_H
#define CCTEST_CLI_PRINTERS_TABLE_H

#include "cli/printers/output.h"
#include "measure/report.h"

/* NULL: out of memory, which is recorded. The caller frees it with table_close(). */
struct report *table_open(FILE *out, struct outcome *outcome);
void table_close(struct report *report);

#endif
