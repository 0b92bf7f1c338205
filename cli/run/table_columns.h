/*
 * table_columns.h - the columns of the table that name what a line runs. Each is shown where it is
 * not the same for all lines.
 */
#ifndef CCTEST_CLI_RUN_TABLE_COLUMNS_H
#define CCTEST_CLI_RUN_TABLE_COLUMNS_H

#include <stdio.h>

#include "run/job.h"

enum work_column { COLUMN_COLLECTIVE, COLUMN_DATATYPE, COLUMN_OPERATOR, COLUMN_ALGORITHM, COLUMNS };
extern const char *const column_titles[COLUMNS];

struct columns {
    int widths[COLUMNS]; /* characters; 0: not shown */
};

void columns_find(const struct job *job, struct columns *columns);

/* What stands in the columns of a candidate's lines. "-": its collective has none. */
void column_texts(const struct candidate *candidate, const char *texts[COLUMNS]);

/* `texts` NULL: blanks. */
void columns_print(FILE *out, const struct columns *columns, const char *const texts[COLUMNS]);

#endif
