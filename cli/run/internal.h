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

/* A line of the table. */
struct table_line {
    struct result result; /* a copy; the first member, so that functions of a result take a line */
    const struct job *job;
    const struct candidate *candidate;
    /* Consequences of the job and the result; NULL, NONE and NAN: there is none. */
    const char *collective, *algorithm, *text, *why_auto, *memory, *copy, *datatype, *op, *counts;
    const char *start, *executor;
    bool vendor, round_trip, in_place;
    int channels, simulated_ranks, late_rank, slowest_group, median_group, fastest_group;
    double late_us, predicted_us, ratio, margin;
};

#define NONE (-1)

/* Null unless the object is there. */
json_t *object_or_null(bool is_there, const struct json_field *fields, const void *object,
                       const void *context);

/* How CSV and the table show a value of a line. */
struct line_column {
    const char *csv; /* its name there; NULL: CSV lacks it */
    int csv_decimals;
    enum column_place place;
    const char *title, *unit; /* the rows of its head in the table; NULL: the table lacks it */
    int width, decimals;
    bool widens; /* it is as wide as the largest size, at least */
    bool (*is_there)(const struct table_line *line); /* the table of the job has it; NULL: always */
    bool (*is_known)(const struct table_line *line); /* the table shows the value; NULL: always */
};

/* A column, and its value in a line. */
struct line_cell {
    const struct line_column *column;
    json_t *value;
    const char *word; /* as it is, if it is one of the job: JSON needs UTF-8; NULL: it is none */
    bool is_there, is_known;
    int width;
};

#define CELLS_MOST     64
#define CELL_TEXT_MOST 400 /* of a number: the largest has 309 digits */

struct line_cells {
    struct line_cell items[CELLS_MOST]; /* as CSV orders them */
    int count;
};

/* Free with line_cells_close(). For the titles alone, a result of the first candidate is enough,
 * whose other members are 0. */
void line_cells_open(struct line_cells *cells, const struct job *job, const struct result *result);
void line_cells_close(struct line_cells *cells);

/* NULL: there is none. */
const char *cell_text(const struct line_cell *cell, int decimals, char text[CELL_TEXT_MOST]);

/* A line in JSON; `document`: has the ranks' hosts. A new reference. */
json_t *line_json(const struct job *job, const struct result *result, const json_t *document);

/* ---- json_causes.c: what accounts for a line's times and wrong data. The object of each is a
 * line, the context the document. ---- */

json_t *line_bottleneck(const void *line, const void *document);
json_t *line_losses(const void *line, const void *document);
json_t *line_delays(const void *line, const void *document);
json_t *line_outliers(const void *line, const void *document);
json_t *line_samples(const void *line, const void *document); /* empty: nothing was timed */
json_t *line_profile(const void *line, const void *document); /* NULL: none was asked for */
json_t *line_faults(const void *line, const void *document);  /* NULL: none was searched for */

/* ---- json_devices.c: NICs and GPUs ---- */

/* Adds "nics" and "gpus", with the facts that are compared, "nic_differences" and
 * "gpu_differences", and for each of the document's "ranks" the names of its NICs and GPUs. */
void devices_put(json_t *document, const struct connectivity *connectivity);

/* The counts of each device of a kind ("port", "GPU"), by class. */
json_t *readings_json(const char *kind, const struct device_readings *readings);

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
