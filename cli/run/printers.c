/*
 * printers.c - the table, CSV and JSON behind one report, and the status with which it ends.
 */
#include "cli/run/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"

#define FAILED_SECONDS 1.5 /* that a reader may take nothing, after a job that failed */
#define LOCK_SECONDS   2   /* that another thread may be writing, before the status is given up */

static struct printers *printers_of(struct report *report)
{
    return (struct printers *)report;
}

/* Each call, until printers_done(). */
static struct printers *printers_enter(struct report *report)
{
    struct printers *printers = printers_of(report);
    pthread_mutex_lock(&printers->lock);
    return printers;
}

/* The next printer; NULL: not asked for. */
static struct report *printers_turn(struct printers *printers, enum printer printer)
{
    running_hide(&printers->running);
    return printers->each[printer];
}

/* Keeps the first failure to write. Standard error takes the table where standard output has other
 * results: what cannot be written there is no failure. */
static void queues_check(struct printers *printers)
{
    for (enum printer i = 0; i < PRINTERS; i++) {
        int error = output_queue_error(printers->queues[i]);
        if (!error || !printers->each[i] || (i == PRINTER_TABLE && !printers->is_stdout[i]))
            continue;
        printers->outcome->gone |= printers->is_stdout[i];
        outcome_fail(printers->outcome, "cannot write %s: %s", printers->destination[i],
                     write_error(error));
    }
}

/* Does anything take the results? */
static bool is_read(const struct printers *printers)
{
    bool read = !printers->outcome->gone;
    for (enum printer i = 0; i < PRINTERS; i++)
        read |= printers->each[i] && i != PRINTER_TABLE && !printers->is_stdout[i];
    return read;
}

/* Has the reader of a pipe or socket gone? */
static bool stdout_is_closed(void)
{
    struct pollfd set = {.fd = STDOUT_FILENO, .events = POLLOUT};
    struct stat about;
    return fstat(STDOUT_FILENO, &about) == 0 &&
           (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode)) && poll(&set, 1, 0) == 1 &&
           (set.revents & (POLLERR | POLLHUP));
}

/* Where standard output takes nothing any more, and no file takes the results, the job need not go
 * on: its failure has the sentence then. */
static void printers_done(struct printers *printers)
{
    struct outcome *outcome = printers->outcome;
    if (printers->is_stdout[PRINTER_JSON] && !outcome->gone && stdout_is_closed()) {
        outcome->gone = true; /* it is written at the end only */
        outcome_fail(outcome, "cannot write standard output: no process reads it");
    }
    queues_check(printers);
    if (is_read(printers) || outcome->ended)
        outcome_say(outcome);
    pthread_mutex_unlock(&printers->lock);
}

static const char *printers_failure(struct report *report, bool whole)
{
    struct printers *printers = printers_enter(report);
    printers_done(printers);
    bool fails = atomic_load(&printers->outcome->failed) && (whole || !is_read(printers));
    return fails ? printers->outcome->failure : NULL;
}

static size_t printers_queued(struct report *report)
{
    struct printers *printers = printers_of(report);
    size_t bytes = 0;
    for (enum printer i = 0; i < PRINTERS; i++)
        bytes += output_queue_bytes(printers->queues[i]);
    return bytes;
}

/* Closes the files that no text waits for. A file server may refuse data at that point, so the
 * status comes behind. */
static void files_close(struct printers *printers)
{
    for (enum printer i = PRINTER_CSV; i <= PRINTER_SAMPLES; i++) {
        int error = output_queue_close(printers->queues[i]);
        if (error)
            output_queue_fail(printers->queues[i], error);
    }
}

static void printers_drain(struct report *report, enum status status)
{
    struct printers *printers = printers_of(report);
    for (enum printer i = 0; i < PRINTERS; i++)
        output_queue_drain(printers->queues[i], status_is_whole(status) ? 0 : FAILED_SECONDS);
    printers_enter(report);
    files_close(printers);
    printers_done(printers);
}

static void printers_begin(struct report *report, const struct job *job,
                           const struct participants *participants)
{
    struct printers *printers = printers_enter(report);
    printers->outcome->begun = true;
    for (enum printer i = 0; i < PRINTERS; i++) {
        struct report *each = printers_turn(printers, i);
        if (each)
            each->begin(each, job, participants);
    }
    running_set_job(&printers->running, job, shape_size(participants->split->groups, 0));
    printers_done(printers);
}

static void printers_connected(struct report *report, const struct job *job,
                               const struct connectivity *connectivity)
{
    struct printers *printers = printers_enter(report);
    for (enum printer i = 0; i < PRINTERS; i++) {
        struct report *each = printers_turn(printers, i);
        if (each && each->connected)
            each->connected(each, job, connectivity);
    }
    printers_done(printers);
}

static void printers_samples(struct report *report, const struct job *job,
                             const struct line_name *line, const struct sample_row *rows,
                             size_t count)
{
    struct printers *printers = printers_enter(report);
    struct report *samples = printers_turn(printers, PRINTER_SAMPLES);
    if (samples)
        samples->samples(samples, job, line, rows, count);
    printers_done(printers);
}

static void printers_result(struct report *report, const struct job *job,
                            const struct result *result)
{
    struct printers *printers = printers_enter(report);
    for (enum printer i = 0; i < PRINTERS; i++) {
        struct report *each = printers_turn(printers, i);
        if (each)
            each->result(each, job, result);
    }
    printers_done(printers);
}

/* Called by another thread than the others. */
static void printers_running(struct report *report, const struct progress_snapshot *now)
{
    running_show(&printers_of(report)->running, now);
}

/* Was it the failure of the job, which has been said? Another may have come first. */
static bool end_has(const struct job_end *end, const char *failure)
{
    for (int i = 0; i < end->error_count; i++)
        if (strstr(end->errors[i].message, failure))
            return true;
    return false;
}

static void printers_end(struct report *report, const struct job *job, const struct job_end *end)
{
    struct printers *printers = printers_enter(report);
    struct outcome *outcome = printers->outcome;
    running_set_job(&printers->running, NULL, 0);
    if (outcome->failed && end_has(end, outcome->failure))
        outcome->said = true;
    for (enum printer i = 0; i < PRINTERS; i++) {
        struct report *each = printers_turn(printers, i);
        if (each)
            each->end(each, job, end);
    }
    outcome->status = (int)end->status;
    outcome->explained = end->error_count > 0;
    outcome->ended = true;
    files_close(printers);
    printers_done(printers);
}

/* The sentence for a status of which rank 0's report does not give the reason; false: it does. No
 * status but these two is without a reason. */
static bool status_reason(const struct printers *printers, enum status status,
                          struct job_error *error)
{
    const struct outcome *outcome = printers->outcome;
    struct failure failure;
    bool known = log_failure(log_current(), &failure);
    bool reported = outcome->ended && outcome->status == (int)status;
    if (status == STATUS_OK || (reported && (status == STATUS_SLOW || outcome->explained)))
        return false;
    if (!known && outcome->failed)
        failure_set(&failure, STATUS_ERROR, "%s", outcome->failure);
    else if (!known && !outcome->ended) {
        failure_set(&failure, status, "rank 0 ended before it could report");
        failure.peer = 0;
    } else if (!known)
        failure_set(&failure, status,
                    "the job ended with status %d (%s), and no rank said why: that is a fault of "
                    "cctest, so report it with what -vv prints",
                    (int)status, status_word(status));
    if (!known && !outcome->failed)
        fail_aloud(&failure);
    *error = job_error_make(failure.peer, "", "end", failure.text);
    return true;
}

/* After a failure to write. */
static enum status status_after(struct printers *printers, enum status status)
{
    queues_check(printers);
    if (!printers->outcome->failed)
        return status;
    return status_worse(status, signals_pending() ? STATUS_INTERRUPTED : STATUS_ERROR);
}

static void last_line(struct printers *printers, enum status status)
{
    struct report *table = printers_turn(printers, PRINTER_TABLE);
    bool gone = printers->is_stdout[PRINTER_TABLE] && printers->outcome->gone;
    if (table && !gone && !printers->has_last_line)
        table_conclude(table, status);
    printers->has_last_line = true;
}

/* JSON comes first: the table must not say "ok" if JSON could not be written. Where JSON waits for
 * a reader, so does the table's last line (printers_settle()). */
static enum status conclude_locked(struct printers *printers, enum status status)
{
    struct outcome *outcome = printers->outcome;
    struct job_error error;
    if (printers->concluded)
        return printers->status;
    printers->concluded = true;
    if (!outcome->ended && status_is_whole(status))
        status = STATUS_ERROR;
    status = status_after(printers, status);
    bool reason = status_reason(printers, status, &error);
    struct report *json = printers_turn(printers, PRINTER_JSON);
    if (json)
        status = status_after(printers, json_conclude(json, status, reason ? &error : NULL));
    printers->status = status;
    if (output_queue_bytes(printers->queues[PRINTER_JSON]) == 0)
        last_line(printers, status);
    return status;
}

/* A thread that hangs in a write may hold the lock: the process ends all the same. */
static enum status printers_conclude(struct report *report, enum status status)
{
    struct printers *printers = printers_of(report);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOCK_SECONDS;
    if (pthread_mutex_timedlock(&printers->lock, &until) != 0)
        return status_is_whole(status) ? STATUS_ERROR : status;
    status = conclude_locked(printers, status);
    pthread_mutex_unlock(&printers->lock);
    return status;
}

/* When nothing waits any more: the last texts may have failed. The status that a stream of JSON has
 * taken stays. */
static enum status printers_settle(struct printers *printers, enum status status)
{
    struct report *json = printers->each[PRINTER_JSON];
    bool stays =
        json && !json_is_replaceable(json) && !output_queue_error(printers->queues[PRINTER_JSON]);
    enum status final = stays ? status : status_after(printers, status);
    if (json && final != status) {
        struct job_error error = job_error_make(NO_RANK, "", "end", printers->outcome->failure);
        json_conclude(json, final, &error);
    }
    last_line(printers, final);
    output_queue_drain(printers->queues[PRINTER_TABLE],
                       status_is_whole(final) ? 0 : FAILED_SECONDS);
    queues_check(printers);
    outcome_say(printers->outcome);
    return final;
}

static const char *destination_name(const char *path)
{
    return output_is_standard(path) ? "standard output" : path;
}

/* From here on a JSON file says that the job runs, so one must say how it ends: no signal ends the
 * process any more. */
static enum status json_begin(struct printers *printers)
{
    enum status status = json_open_stream(printers->each[PRINTER_JSON]);
    signals_hold();
    return status == STATUS_OK ? json_announce(printers->each[PRINTER_JSON]) : status;
}

/* Makes the printers that are asked for. */
static void printers_make(struct printers *printers, const struct request *request,
                          enum printed printed)
{
    const struct output_files *files = &request->files;
    struct report **each = printers->each;
    struct output_queue *const *queues = printers->queues;
    if (printed == PRINT_TABLE)
        each[PRINTER_TABLE] = table_open(queues[PRINTER_TABLE], printers->outcome);
    if (files->csv)
        each[PRINTER_CSV] = csv_open(files->csv, queues[PRINTER_CSV], false);
    if (files->samples)
        each[PRINTER_SAMPLES] = csv_open(files->samples, queues[PRINTER_SAMPLES], true);
    if (files->json)
        each[PRINTER_JSON] =
            json_open(files->json, request, queues[PRINTER_JSON], printers->outcome);
}

static enum status printers_announce(struct printers *printers)
{
    struct report **each = printers->each;
    enum status status = STATUS_OK;
    if (each[PRINTER_CSV] && status == STATUS_OK)
        status = csv_announce(each[PRINTER_CSV]);
    if (each[PRINTER_SAMPLES] && status == STATUS_OK)
        status = csv_announce(each[PRINTER_SAMPLES]);
    if (each[PRINTER_JSON] && status == STATUS_OK)
        status = json_begin(printers);
    return status;
}

enum status printers_open(struct printers *printers, const struct request *request,
                          enum printed printed, bool announces)
{
    const struct output_files *files = &request->files;
    bool aside = outputs_take_standard(request, FOR_RUN | FOR_PREDICT);
    *printers =
        (struct printers){.report = {.begin = printers_begin,
                                     .connected = printers_connected,
                                     .samples = printers_samples,
                                     .running = printers_running,
                                     .result = printers_result,
                                     .end = printers_end,
                                     .conclude = printers_conclude,
                                     .failure = printers_failure,
                                     .queued = printers_queued,
                                     .drain = printers_drain},
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .destination = {[PRINTER_TABLE] = "the table",
                                          [PRINTER_CSV] = destination_name(files->csv),
                                          [PRINTER_SAMPLES] = destination_name(files->samples),
                                          [PRINTER_JSON] = destination_name(files->json)},
                          .is_stdout = {[PRINTER_TABLE] = !aside,
                                        [PRINTER_CSV] = output_is_standard(files->csv),
                                        [PRINTER_SAMPLES] = output_is_standard(files->samples),
                                        [PRINTER_JSON] = output_is_standard(files->json)}};
    for (enum printer i = 0; i < PRINTERS; i++)
        printers->queues[i] = output_queue_create();
    void *shared = mmap(NULL, sizeof *printers->outcome, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return fail(STATUS_ERROR, "not enough memory for the report: free some");
    printers->outcome = shared;
    output_queue_open(printers->queues[PRINTER_TABLE], aside ? STDERR_FILENO : STDOUT_FILENO);
    running_open(&printers->running, printers->queues[PRINTER_TABLE], printers->outcome);
    printers_make(printers, request, printed);
    return announces ? printers_announce(printers) : STATUS_OK;
}

void printers_close(struct printers *printers)
{
    static void (*const closes[PRINTERS])(struct report * report) = {csv_close, csv_close,
                                                                     json_close, table_close};
    for (enum printer i = 0; i < PRINTERS; i++) {
        closes[i](printers->each[i]);
        output_queue_destroy(printers->queues[i]);
    }
    if (printers->outcome)
        munmap(printers->outcome, sizeof *printers->outcome);
}

enum status printers_finish(struct printers *printers, bool reports, enum status status)
{
    if (reports)
        status = printers_conclude(&printers->report, status);
    printers_drain(&printers->report, status);
    if (reports)
        status = printers_settle(printers, status);
    printers_close(printers);
    return status;
}
