/*
 * parts_at_work.c - how fast the parts of this host are, all at work at the same time.
 */
#include "accept/internal.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

struct part_thread {
    struct part_at_work part;
    struct parts_run *run;
    pthread_t thread;
};

struct parts_run {
    struct log *log;           /* of the caller: threads fail in its name */
    pthread_mutex_t gate;      /* shut until it is known how many threads there are, */
    pthread_barrier_t barrier; /* which begin each work together */
    _Atomic bool failed;       /* one of them: the others end, too */
};

static enum status work_measure(struct part_at_work *part, int work)
{
    double done = 0, begin = clock_seconds(), now = begin;
    enum status status = STATUS_OK;
    while (now - begin < part->kind->seconds && status == STATUS_OK) {
        double piece = 0;
        status = part->kind->step(part, work, &piece);
        done += piece;
        now = clock_seconds();
    }
    part->rates[work] = done / (now - begin);
    return status;
}

static void *part_main(void *argument)
{
    struct part_thread *thread = argument;
    struct parts_run *run = thread->run;
    struct part_at_work *part = &thread->part;
    log_attach(run->log);
    pthread_mutex_lock(&run->gate);
    pthread_mutex_unlock(&run->gate);
    if (!atomic_load(&run->failed) && part->kind->open(part) != STATUS_OK)
        atomic_store(&run->failed, true);
    for (int work = 0; work < part->kind->work_count; work++) {
        pthread_barrier_wait(&run->barrier);
        if (!atomic_load(&run->failed) && work_measure(part, work) != STATUS_OK)
            atomic_store(&run->failed, true);
    }
    part->kind->close(part);
    return NULL;
}

static enum status threads_run(struct parts_run *run, struct part_thread *threads, int count)
{
    int started = 0, error = 0;
    pthread_mutex_lock(&run->gate);
    while (started < count && error == 0) {
        error = pthread_create(&threads[started].thread, NULL, part_main, &threads[started]);
        started += error == 0;
    }
    atomic_store(&run->failed, error != 0);
    if (started > 0)
        pthread_barrier_init(&run->barrier, NULL, (unsigned)started);
    pthread_mutex_unlock(&run->gate);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i].thread, NULL);
    if (started > 0)
        pthread_barrier_destroy(&run->barrier);
    if (error)
        return fail(STATUS_ERROR, "could not start a thread for each of %d CPUs or GPUs: %s", count,
                    strerror(error));
    struct failure failure;
    return !atomic_load(&run->failed)        ? STATUS_OK
           : log_failure(run->log, &failure) ? failure.status
                                             : STATUS_ERROR;
}

/* ---- results ---- */

/* `part`: NULL: all together. */
static void line_add(json_t *lines, const struct part_work *work, const struct part_at_work *part,
                     double rate, int count)
{
    json_t *line = json_pack("{s:s, s:i, s:i, s:f}", "collective", work->name, "ranks", count,
                             "bytes", 1, work->key, rate / work->unit);
    if (part)
        json_object_set_new(line, "part", json_string(part->name));
    json_array_append_new(lines, line);
}

static void work_lines(json_t *lines, const struct parts_at_work *kind, int w,
                       const struct part_thread *threads, int count)
{
    const struct part_work *work = &kind->works[w];
    const struct part_at_work *slowest = &threads[0].part;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const struct part_at_work *part = &threads[i].part;
        sum += part->rates[w];
        slowest = part->rates[w] < slowest->rates[w] ? part : slowest;
        if (work->lines == PARTS_EACH)
            line_add(lines, work, part, part->rates[w], count);
    }
    if (work->lines == PARTS_TOGETHER)
        line_add(lines, work, NULL, sum, count);
    if (work->lines == PARTS_SLOWEST)
        line_add(lines, work, slowest, slowest->rates[w], count);
}

static enum status results_write(const struct parts_at_work *kind,
                                 const struct part_thread *threads, int count, const char *note,
                                 int fd)
{
    json_t *lines = json_array();
    for (int w = 0; w < kind->work_count && count > 0; w++)
        work_lines(lines, kind, w, threads, count);
    json_t *document = json_pack("{s:s, s:o, s:s}", "status", "ok", "results", lines, "note", note);
    bool written = document && json_dumpfd(document, fd, JSON_COMPACT) == 0;
    json_decref(document);
    return written ? STATUS_OK : fail(STATUS_ERROR, "the numbers of this host cannot be written");
}

enum status parts_measure(const struct parts_at_work *kind, const int *numbers, int count,
                          const char *note, int fd)
{
    struct part_thread *threads = calloc((size_t)count + 1, sizeof *threads);
    struct parts_run run = {.log = log_current(), .gate = PTHREAD_MUTEX_INITIALIZER};
    if (!threads)
        return fail(STATUS_ERROR, "out of memory for %d CPUs or GPUs", count);
    for (int i = 0; i < count; i++)
        threads[i] =
            (struct part_thread){.run = &run, .part = {.kind = kind, .number = numbers[i]}};
    enum status status = threads_run(&run, threads, count);
    if (status == STATUS_OK)
        status = results_write(kind, threads, count, note, fd);
    free(threads);
    return status;
}
