/*
 * run.h - the interface of cli/run/.
 */
#ifndef CCTEST_CLI_RUN_RUN_H
#define CCTEST_CLI_RUN_RUN_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/io/io.h"
#include "base/json_field.h"
#include "base/rank_state.h"
#include "cli/options/options.h"
#include "run/run.h"
#include "run/results/results.h"

/* ---- The keys of objects in JSON; the definition of each in cli/schema.json has its name. ---- */

extern const struct json_field run_fields[], times_fields[], median_interval_fields[],
    mode_fields[], trend_fields[], slowest_rank_fields[], group_result_fields[], step_end_fields[],
    bytes_by_path_fields[], traffic_fields[], rank_and_host_fields[], slow_host_fields[],
    bottleneck_fields[], loss_fields[], delay_fields[], outlier_fields[], outliers_fields[],
    peer_fields[], sample_fields[], profile_fields[], fault_place_fields[], fault_fields[],
    result_fields[], group_fields[], one_way_fields[], link_class_fields[], fallback_fields[],
    memory_device_fields[], member_fields[], library_fields[], error_fields[],
    device_in_use_fields[], reading_fields[], faulty_device_fields[];

/* ---- Prints a run as a JSON document. ---- */

/* The caller frees it with json_close(). */
struct report *json_open(const char *path, const struct request *request,
                         struct output_queue *queue, struct outcome *outcome);
void json_close(struct report *report);

/* Before there are ranks, in the process that owns the report. So a path that cannot be written is
 * found at once. The first opens a stream, and may wait for its reader; the second writes a file,
 * with status "running". */
enum status json_open_stream(struct report *report);
enum status json_announce(struct report *report);

/* No job was started: writes a document with the recorded failure. Best effort. `request`: NULL
 * where its command line was refused. */
void json_refuse(const char *path, const struct request *request, enum status status);

/* May the document be written again? Not to a stream. */
bool json_is_replaceable(struct report *report);

/* Completes the document, which another process may have left behind, with the status and one more
 * error (NULL: none), and delivers it. May be called again where `path` is no stream. Returns the
 * status that the document has: a worse one where results are lost. */
enum status json_conclude(struct report *report, enum status status, const struct job_error *error);

/* The counters of a class: {"local_ack_timeout_err": 3}. */
json_t *counters_object(const struct counter_list *list, enum counter_class class);

/* ---- One line on a terminal that says what runs now, below the table: for lines of the
 * table that take long. It vanishes when something else is printed.
 * ---- */

struct running {
    pthread_mutex_t lock;
    const struct job *job; /* NULL: nothing is shown */
    int ranks;             /* of the job */
    struct output_queue
        *table; /* nothing is shown while text waits there, perhaps for this terminal */
    bool on_terminal;
    struct outcome *outcome;
    struct progress_snapshot
        line;     /* as it was when the present line of the table was first seen, */
    double since; /* at that time, */
    double due;   /* and when to show more of it */
};

void running_open(struct running *running, struct output_queue *table, struct outcome *outcome);
/* These ranks work for this job from now on; NULL: they no longer do. */
void running_set_job(struct running *running, const struct job *job, int ranks);
/* By any thread: what rank 0 does now. Shows it if that has taken a while. */
void running_show(struct running *running, const struct progress_snapshot *now);
/* Before anything else is printed. */
void running_hide(struct running *running);

/* ---- The table, CSV and JSON behind one report, and the status with which it ends.
 *
 * A job has one status: the exit status, the table's last line and JSON agree. So the status is
 * written by the process whose exit status it is, after the end of all ranks that it started; rank
 * 0, where it is a child, writes the rest (struct outcome).
 * ---- */

/* The table comes last: it must not say "ok" if the other files could not be written. */
enum printer { PRINTER_CSV, PRINTER_SAMPLES, PRINTER_JSON, PRINTER_TABLE, PRINTERS };

struct printers {
    struct report report;
    struct report *each[PRINTERS];         /* all but the table: NULL unless asked for */
    struct output_queue *queues[PRINTERS]; /* of each; JSON that is a file does not use its own */
    const char *destination[PRINTERS];     /* for sentences */
    bool is_stdout[PRINTERS];
    struct outcome *outcome; /* shared with child processes */
    struct running running;
    pthread_mutex_t lock; /* of what follows, and of what each printer has */
    bool concluded;
    enum status status; /* then */
    bool has_last_line; /* the table has */
};

/* A selection of the printers: a job that runs inside of another has no table. */
enum printed { PRINT_TABLE, PRINT_FILES };

/* `announces`: this process or its child is rank 0, so it tests the paths now. The caller frees the
 * printers with printers_close(), also after a failure, which is recorded. */
enum status printers_open(struct printers *printers, const struct request *request,
                          enum printed printed, bool announces);
void printers_close(struct printers *printers);
/* When the ranks have ended: writes the status, if `reports`, waits for readers, and closes the
 * printers. Returns the final status. */
enum status printers_finish(struct printers *printers, bool reports, enum status status);

/* ---- Ranks the algorithms of a run, below the table. ---- */

/* The facts of a result that the foot of the table needs. */
struct ranked {
    int choice;
    size_t asked, bytes; /* of the sweep; as it became */
    int ranks;
    double time, busbw; /* us; GB/s */
    double low, high;   /* us: the interval of the time; of few iterations the range of the times */
    bool wrong;
};

/* Prints how fast each algorithm was, and in which place. `cells` come in the order of the results.
 * Prints nothing where there is nothing to compare. */
void ranking_print(FILE *out, const struct job *job, const struct ranked *cells, size_t count);

/* ---- One line on the terminal behind standard error, below the results: it says what runs
 * now, and vanishes before anything else is printed.
 * ---- */

#define TERMINAL_LINE_MOST                                                                         \
    240 /* bytes of its text, with its 0: a terminal with any room takes so much at once */

/* Is there a terminal that this process may move the cursor on? */
bool terminal_line_possible(void);

/* Shows a text in place of the last one. Waits for nothing: false: the terminal has no room (Ctrl-S
 * stops one). */
bool terminal_line_show(const char *text);

/* Takes it away. False: likewise. */
bool terminal_line_hide(void);

#endif
