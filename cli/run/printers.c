/*
 * printers.c - the table, CSV and JSON behind one report, and the status with which it ends.
 */
#include "cli/run/internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"

#define FAILED_SECONDS 1.5 /* for a reader, after a job that failed */

static struct printers *printers_of(struct report *report)
{
    return (struct printers *)report;
}

/* Each call of rank 0's main thread but the last, until printers_done(). */
static struct printers *printers_enter(struct report *report)
{
    struct printers *printers = printers_of(report);
    pthread_mutex_lock(&printers->lock);
    return printers;
}

/* The next printer; NULL: not asked for. From now on its reader may block the rank. */
static struct report *printers_turn(struct printers *printers, enum printer printer)
{
    atomic_store(&printers->report.writing, printers->destination[printer]);
    running_hide(&printers->running);
    return printers->each[printer];
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
    bool read = !outcome->gone;
    for (enum printer i = 0; i < PRINTERS; i++)
        read |= printers->each[i] && i != PRINTER_TABLE && !printers->is_stdout[i];
    if (read || outcome->ended)
        outcome_say(outcome);
    atomic_store(&printers->report.unread, !read);
    atomic_store(&printers->report.writing, NULL);
    pthread_mutex_unlock(&printers->lock);
}

static const char *printers_unwritten(struct report *report)
{
    struct outcome *outcome = printers_of(report)->outcome;
    return atomic_load(&outcome->failed) ? outcome->failure : NULL;
}

static void printers_begin(struct report *report, const struct job *job,
                           const struct participants *participants)
{
    struct printers *printers = printers_enter(report);
    printers->outcome->begun = true;
    predictor_begin(&printers->predictor, job, participants);
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
    predictor_connected(&printers->predictor, job, connectivity);
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
    struct result shown = *result;
    predictor_line(&printers->predictor, job, &shown);
    for (enum printer i = 0; i < PRINTERS; i++) {
        struct report *each = printers_turn(printers, i);
        if (each)
            each->result(each, job, &shown);
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

/* After a failure to write, in this process. */
static enum status status_after(const struct printers *printers, enum status status)
{
    if (!printers->outcome->failed)
        return status;
    return status_graver(status, signals_pending() ? STATUS_INTERRUPTED : STATUS_ERROR);
}

/* JSON comes first. What it says is the status, whatever becomes of the table then, unless it can be
 * replaced. */
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
    if (!status_is_whole(status))
        printers->patience.seconds = FAILED_SECONDS;
    bool reason = status_reason(printers, status, &error);
    struct report *json = printers_turn(printers, PRINTER_JSON);
    if (json) {
        status = json_conclude(json, status, reason ? &error : NULL);
        status = status_after(printers, status);
        atomic_store(&printers->said, (int)status);
    }
    struct report *table = printers_turn(printers, PRINTER_TABLE);
    if (table)
        table_conclude(table, status);
    bool stays = json && !json_is_replaceable(json);
    enum status final = stays ? status : status_after(printers, status);
    if (json && final != status) {
        error = job_error_make(NO_RANK, "", "end", outcome->failure);
        json_conclude(printers_turn(printers, PRINTER_JSON), final, &error);
    }
    outcome_say(outcome);
    atomic_store(&printers->report.writing, NULL);
    printers->status = final;
    atomic_store(&printers->said, (int) final);
    return final;
}

static enum status printers_conclude(struct report *report, enum status status)
{
    struct printers *printers = printers_of(report);
    pthread_mutex_lock(&printers->lock);
    status = conclude_locked(printers, status);
    pthread_mutex_unlock(&printers->lock);
    return status;
}

/* The lock is kept: the thread that hangs must not go on and write, too. A thread that hangs in the
 * table's last line has written JSON, and that stays. */
static bool printers_conclude_instead(struct report *report, enum status *status)
{
    struct printers *printers = printers_of(report);
    if (pthread_mutex_trylock(&printers->lock) != 0) {
        int said = atomic_load(&printers->said);
        if (said >= 0)
            *status = (enum status)said;
        return said >= 0;
    }
    *status = conclude_locked(printers, *status);
    return true;
}

static const char *destination_name(const char *path)
{
    return output_is_standard(path) ? "its standard output" : path;
}

/* From here on a JSON file says that the job runs, so one must say how it ends. A file system that
 * does not answer is given up; no signal ends the process any more. */
static enum status json_begin(struct printers *printers)
{
    struct watchdog watchdog;
    signals_hold();
    watchdog_start(&watchdog, &printers->report, &printers->said, STATUS_ERROR);
    enum status status = json_announce(printers_turn(printers, PRINTER_JSON));
    atomic_store(&printers->report.writing, NULL);
    watchdog_stop(&watchdog);
    return status;
}

enum status printers_open(struct printers *printers, const struct request *request,
                          enum printed printed, bool announces)
{
    const struct output_files *files = &request->files;
    bool aside = output_is_standard(files->json) || output_is_standard(files->csv) ||
                 output_is_standard(files->samples) || output_is_standard(files->svg);
    *printers = (struct printers){
        .report = {.begin = printers_begin,
                   .connected = printers_connected,
                   .samples = printers_samples,
                   .running = printers_running,
                   .result = printers_result,
                   .end = printers_end,
                   .conclude = printers_conclude,
                   .conclude_instead = printers_conclude_instead,
                   .unwritten = printers_unwritten,
                   .hurries = &printers->patience.over,
                   .awaits_reader = &printers->patience.waits,
                   .writes = &printers->patience.writes},
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .said = -1,
        .patience = {.writing = &printers->report.writing},
        .destination = {[PRINTER_TABLE] = aside ? "its standard error" : destination_name("-"),
                        [PRINTER_CSV] = destination_name(files->csv),
                        [PRINTER_SAMPLES] = destination_name(files->samples),
                        [PRINTER_JSON] = destination_name(files->json)},
        .is_stdout = {[PRINTER_TABLE] = !aside,
                      [PRINTER_CSV] = output_is_standard(files->csv),
                      [PRINTER_SAMPLES] = output_is_standard(files->samples),
                      [PRINTER_JSON] = output_is_standard(files->json)}};
    void *shared = mmap(NULL, sizeof *printers->outcome, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return fail(STATUS_ERROR, "not enough memory for the report: free some");
    struct outcome *outcome = printers->outcome = shared;
    running_open(&printers->running, &printers->report.writing, outcome);
    struct report **each = printers->each;
    if (printed == PRINT_TABLE &&
        !(each[PRINTER_TABLE] =
              table_open(aside ? STDERR_FILENO : STDOUT_FILENO, &printers->patience, outcome)))
        return STATUS_ERROR;
    if (files->csv && !(each[PRINTER_CSV] = csv_open(files->csv, &printers->patience, outcome)))
        return STATUS_ERROR;
    if (files->samples &&
        !(each[PRINTER_SAMPLES] = csv_open_samples(files->samples, &printers->patience, outcome)))
        return STATUS_ERROR;
    if (files->json &&
        !(each[PRINTER_JSON] = json_open(files->json, request, &printers->patience, outcome)))
        return STATUS_ERROR;
    enum status status =
        announces ? predictor_open(&printers->predictor, request->job.model) : STATUS_OK;
    if (announces && each[PRINTER_CSV] && status == STATUS_OK)
        status = csv_announce(each[PRINTER_CSV]);
    if (announces && each[PRINTER_SAMPLES] && status == STATUS_OK)
        status = csv_announce(each[PRINTER_SAMPLES]);
    if (announces && each[PRINTER_JSON] && status == STATUS_OK)
        status = json_begin(printers);
    return status;
}

void printers_close(struct printers *printers)
{
    static void (*const closes[PRINTERS])(struct report * report) = {csv_close, csv_close,
                                                                     json_close, table_close};
    for (enum printer i = 0; i < PRINTERS; i++) {
        atomic_store(&printers->report.writing, printers->destination[i]);
        closes[i](printers->each[i]);
    }
    predictor_close(&printers->predictor);
    if (printers->outcome)
        munmap(printers->outcome, sizeof *printers->outcome);
}

enum status printers_finish(struct printers *printers, bool reports, enum status status)
{
    struct watchdog watchdog;
    bool writes = printers->outcome->begun;
    for (enum printer i = 0; i < PRINTERS; i++)
        writes |= i != PRINTER_TABLE && printers->each[i];
    if (writes)
        watchdog_start(&watchdog, &printers->report, &printers->said, status);
    if (reports)
        status = printers_conclude(&printers->report, status);
    printers_close(printers);
    if (writes)
        watchdog_stop(&watchdog);
    return status;
}
