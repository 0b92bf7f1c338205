/*
 * internal.h - for the files of cli/run/ alone.
 */
#ifndef CCTEST_CLI_RUN_INTERNAL_H
#define CCTEST_CLI_RUN_INTERNAL_H

#include <jansson.h>
#include <stdio.h>

#include "cli/run/run.h"

/* ---- Prints a run as comma-separated values. ---- */

/* NULL: out of memory, which is recorded. The caller frees it with csv_close(). */
struct report *csv_open(const char *path, struct output_queue *queue);
/* The same for raw samples, one line each, in place of results. */
struct report *csv_open_samples(const char *path, struct output_queue *queue);
void csv_close(struct report *report);

/* Before there are ranks, in the process that owns the report: opens the file. So a path that
 * cannot be written is found at once. */
enum status csv_announce(struct report *report);

/* ---- json.c ---- */

/* ---- Prints a run as a table for people. ---- */

/* NULL: out of memory, which is recorded. The caller frees it with table_close(). */
struct report *table_open(struct output_queue *queue, struct outcome *outcome);
void table_close(struct report *report);

/* The last line: how the job ended. */
void table_conclude(struct report *report, enum status status);

/* ---- The columns of the table that name what a line runs. Each is shown where it is
 * not the same for all lines.
 * ---- */

enum work_column { COLUMN_COLLECTIVE, COLUMN_DATATYPE, COLUMN_OPERATOR, COLUMN_ALGORITHM, COLUMNS };
extern const char *const column_titles[COLUMNS];

struct columns {
    int widths[COLUMNS]; /* characters; 0: not shown */
};

void columns_find(const struct job *job, struct columns *columns);

/* The texts in the columns of a candidate's lines. "-": its collective has none. */
void column_texts(const struct candidate *candidate, const char *texts[COLUMNS]);

/* `texts` NULL: blanks. */
void columns_print(FILE *out, const struct columns *columns, const char *const texts[COLUMNS]);

/* ---- table_notes.c ---- */

/* In the head: the devices that differ from the others. */
void differences_print(FILE *out, const struct connectivity *connectivity);

/* With -v, in the head: the ranks that use each NIC. */
void uses_print(FILE *out, const struct connectivity *connectivity);
/* The same as a text, to be freed; NULL: it is empty, or memory ran out. */
char *readings_text(const struct device_readings *readings, enum counter_class class);

/* In the footer: the devices that have counted what healthy ones do not. */
void sick_print(FILE *out, const struct device_readings *sick);

/* ---- Which ranks use which GPU, in front of the table. ---- */

/* A line for each GPU that has a rank's memory: for a few of many, unless `all`. Prints nothing
 * where the host has it. */
void gpus_print(FILE *out, const struct participants *participants, bool all);

/* ---- table_head.c ---- */

void head_print(FILE *out, const struct job *job, const struct participants *participants,
                const struct columns *columns);

/* ---- Prints the ranks' time by activity, below a line of the table. ---- */

/* Prints nothing if no profile was asked for. */
void profile_print(FILE *out, const struct job *job, const struct result *result);

/* ---- Prints how sure the time of a line is. ---- */

/* Columns of -n auto: iterations, the interval of the median, and why the line ended. Without it
 * they print nothing. `row`: 0 or 1 of the titles. */
void sampling_titles_print(FILE *out, const struct job *job, int row);
void sampling_columns_print(FILE *out, const struct job *job, const struct result *result);

/* Sentences below a line whose samples are not of one kind: two modes, a trend. */
void samples_remark(FILE *out, const struct result *result);

#endif
