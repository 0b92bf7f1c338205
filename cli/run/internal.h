/*
 * internal.h - for the files of cli/run/ alone.
 */
#ifndef CCTEST_CLI_RUN_INTERNAL_H
#define CCTEST_CLI_RUN_INTERNAL_H

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>

#include "base/io/io.h"
#include "cli/run/run.h"
#include "run/run.h"
#include "run/results/results.h"

/* ---- Prints a run as comma-separated values. ---- */

/* NULL: out of memory, which is recorded. The caller frees it with csv_close(). */
struct report *csv_open(const char *path, struct patience *patience, struct outcome *outcome);
/* The same for raw samples, one line each, in place of results. */
struct report *csv_open_samples(const char *path, struct patience *patience,
                                struct outcome *outcome);
void csv_close(struct report *report);

/* Before there are ranks, in the process that owns the report: opens the file. So a path that
 * cannot be written is found at once. */
enum status csv_announce(struct report *report);

/* ---- json.c ---- */

/* ---- Prints a run as a table for people. ---- */

/* To the descriptor `fd`. Standard error takes it where standard output has other results: what
 * cannot be written there is no failure. NULL: out of memory, which is recorded. The caller frees
 * it with table_close(). */
struct report *table_open(int fd, struct patience *patience, struct outcome *outcome);
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

/* ---- Ends the process where a file does not take its last write: no helper thread of a
 * rank is left then.
 * ---- */

struct watchdog {
    pthread_t thread;
    pid_t watched; /* the thread that writes */
    int over;      /* eventfd; -1: no thread watches */
    struct report *report;
    const _Atomic int *said; /* the status that JSON or the table says; negative: none yet */
    enum status status;      /* of the job, so far */
};

/* Watches the calling thread. The process ends when one write has taken FILE_SECONDS, a wait for a
 * reader not counted, with `said`, or else with `status` and an error. What is given here stays
 * until watchdog_stop(). Without memory for a thread nothing is watched. */
void watchdog_start(struct watchdog *watchdog, struct report *report, const _Atomic int *said,
                    enum status status);
void watchdog_stop(struct watchdog *watchdog);

#endif
