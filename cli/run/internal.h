/*
 * internal.h - for the files of cli/run/ alone.
 */
#ifndef CCTEST_CLI_RUN_INTERNAL_H
#define CCTEST_CLI_RUN_INTERNAL_H

#include <jansson.h>
#include <stdio.h>

#include "cli/run/run.h"

/* ---- fields.c ---- */

/* The columns of the table, from left to right. Behind the size stand those that name what a line
 * runs. */
enum column_place {
    PLACE_SIZE,
    PLACE_TIME,
    PLACE_SPLIT,
    PLACE_CHECK,
    PLACE_SAMPLING,
    PLACE_MODEL,
    COLUMN_PLACES
};

/* A value of a line, and how CSV and the table show it. */
struct line_field {
    json_t *value;
    const char *word;         /* if it is one; NULL where `value` is null: there is none */
    const char *csv;          /* the name of its column there; NULL: it has none */
    const char *title, *unit; /* of its column in the table: the rows of the head; NULL: likewise */
    enum column_place place;
    int csv_decimals, decimals, width;
    bool is_known; /* the table shows it */
};

#define FIELDS_MOST     64
#define FIELD_TEXT_MOST 400 /* of a number: the largest has 309 digits */

/* A line of the table. */
struct line_fields {
    json_t *line; /* what JSON has of it, without what only rank 0's samples tell */
    struct line_field items[FIELDS_MOST]; /* as CSV orders them */
    int count;
    bool has_p99; /* the table has a column for it */
};

/* Free with fields_close(). For the titles alone, a result of the first candidate is enough, whose
 * other members are 0. */
void fields_open(struct line_fields *fields, const struct job *job, const struct result *result);
void fields_close(struct line_fields *fields);

/* How long a line, or one of its groups, took. `fields` NULL: for JSON alone. */
void timing_put(struct line_fields *fields, json_t *line, const struct timing *timing,
                bool is_timed);

/* NULL: there is none. */
const char *field_text(const struct line_field *field, int decimals, char text[FIELD_TEXT_MOST]);

/* ---- json_devices.c: NICs and GPUs ---- */

/* At the beginning: adds the keys of the functions below, with empty lists. */
void devices_begin(json_t *document);

/* Adds "nics" and "gpus" to a rank, empty until devices_put(). */
void devices_begin_rank(json_t *rank);

/* Adds "nics" and "gpus", with the facts that are compared, "nic_differences" and
 * "gpu_differences", and for each of the document's "ranks" the names of its NICs and GPUs. */
void devices_put(json_t *document, const struct connectivity *connectivity);

/* Adds "nics" and "gpus" to a line: what each has counted, by class. */
void readings_put(json_t *line, const struct device_readings *readings);

/* Adds "nic_faults" and "gpu_faults", what devices have counted in the job and healthy ones do not,
 * and "nics_unfinished" and "gpus_unfinished". */
void devices_end(json_t *document, const struct job_end *end);

/* ---- Prints a run as comma-separated values. ---- */

/* A line for each result; `samples`: for each raw sample. The caller frees it with csv_close(). */
struct report *csv_open(const char *path, struct output_queue *queue, bool samples);
void csv_close(struct report *report);

/* Before there are ranks, in the process that owns the report: opens the file. So a path that
 * cannot be written is found at once. */
enum status csv_announce(struct report *report);

/* ---- Prints a run as a table for people. ---- */

/* The caller frees it with table_close(). */
struct report *table_open(struct output_queue *queue, struct outcome *outcome);
void table_close(struct report *report);

/* The last line: how the job ended. */
void table_conclude(struct report *report, enum status status);

/* ---- table_head.c ---- */

/* The columns of the table that name what a line runs. Each is shown where it is not the same for
 * all lines. */
enum work_column { COLUMN_COLLECTIVE, COLUMN_DATATYPE, COLUMN_OPERATOR, COLUMN_ALGORITHM, COLUMNS };

struct columns {
    int widths[COLUMNS]; /* characters; 0: not shown */
};

/* The texts in the columns of a candidate's lines. "-": its collective has none. */
void column_texts(const struct candidate *candidate, const char *texts[COLUMNS]);

void head_print(FILE *out, const struct job *job, const struct participants *participants,
                const struct columns *columns);

#endif
