/*
 * checked_run.c - checked iterations, several in a row.
 */
#include "session/checked_run.h"

#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "check/pattern.h"

#define SET_BYTES  ((size_t)4 << 20) /* the most for a buffer of a set behind the first */
#define STEP_BYTES ((size_t)8 << 20) /* between two signs of life */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int checked_run_sets(const struct job *job)
{
    return job->checked < 1                  ? 1
           : job->checked < BUFFER_SETS_MOST ? (int)job->checked
                                             : BUFFER_SETS_MOST;
}

size_t checked_run_bytes(const struct job *job, const size_t need[BUFFERS])
{
    size_t all = 0, more = (size_t)(checked_run_sets(job) - 1);
    for (int b = 0; b < BUFFERS; b++)
        if (__builtin_add_overflow(all, need[b], &all) ||
            __builtin_add_overflow(all, more * smaller(need[b], SET_BYTES), &all))
            return SIZE_MAX;
    return all;
}

enum status checked_run_open(struct checked_run *checked, struct runner *runner,
                             const size_t need[BUFFERS])
{
    const struct job *job = runner->job;
    size_t less[BUFFERS];
    enum status status = STATUS_OK;
    checked->runner = runner;
    for (int b = 0; b < BUFFERS; b++)
        less[b] = smaller(need[b], SET_BYTES);
    while (status == STATUS_OK && checked->set_count < checked_run_sets(job)) {
        status = buffers_allocate(job->memory, checked->set_count ? less : need, &runner->tick,
                                  &checked->sets[checked->set_count]);
        if (status == STATUS_OK)
            checked->set_count++;
    }
    return status;
}

void checked_run_close(struct checked_run *checked)
{
    while (checked->set_count)
        buffers_release(&checked->sets[--checked->set_count]);
}

/* One checked iteration: what it runs, on which set, and what must come. */
struct check {
    struct executor *executor;
    const struct schedule *schedule;
    struct buffers *set;
    struct pattern pattern;
    size_t used[BUFFERS]; /* bytes; in place the inner buffer is part of the outer */
};

static char *check_buffer(const struct check *check, enum buffer buffer)
{
    return buffers_place(check->set, check->schedule, check->pattern.datatype->size, buffer);
}

/* Poison everywhere, then the input. */
static void check_prepare(struct checked_run *checked, const struct test_case *test_case, int set,
                          struct check *check)
{
    const struct job *job = checked->runner->job;
    int root = (int)(checked->checks % (uint64_t)test_case->schedule_count);
    *check = (struct check){
        .executor = test_case_executor(test_case, root, set),
        .schedule = test_case->schedules[root],
        .set = &checked->sets[set],
        .pattern = {.problem = test_case->schedules[root]->problem,
                    .datatype = job->datatype,
                    .reduction = job->collective->reduces ? job->reduction : NULL,
                    .seed = job->seed,
                    .iteration = checked->checks++,
                    .tick = &checked->runner->tick},
    };
    schedule_bytes(check->schedule, job->datatype->size, check->used);
    for (int b = 0; b < BUFFERS; b++)
        for (size_t at = 0, step; at < check->used[b]; at += step) {
            step = smaller(STEP_BYTES, check->used[b] - at);
            memset(check->set->base[b] + at, PATTERN_POISON, step);
            tick_on(check->pattern.tick);
        }
    buffers_guard(check->set, check->used);
    size_t size = job->datatype->size, count = check->schedule->extent[BUFFER_SOURCE];
    for (size_t at = 0, step; at < count; at += step) {
        step = smaller(STEP_BYTES / size, count - at);
        pattern_fill(&check->pattern, checked->runner->rank, at, step,
                     check_buffer(check, BUFFER_SOURCE) + at * size);
        tick_on(check->pattern.tick);
    }
}

/* The source must be as it was, but for what the destination covers in place. */
static size_t source_changes(const struct check *check, int rank)
{
    const struct schedule *s = check->schedule;
    const char *source = check_buffer(check, BUFFER_SOURCE);
    size_t begin = s->base[BUFFER_SOURCE], end = begin + s->extent[BUFFER_SOURCE];
    size_t out = s->base[BUFFER_DESTINATION], out_end = out + s->extent[BUFFER_DESTINATION];
    if (!s->problem.in_place)
        return check_source(&check->pattern, rank, source, 0, end - begin);
    size_t before = out > begin ? out - begin : 0, after = end > out_end ? end - out_end : 0;
    return check_source(&check->pattern, rank, source, 0, before) +
           check_source(&check->pattern, rank, source, end - begin - after, after);
}

static void check_look(const struct check *check, int rank, struct rank_result *rank_result)
{
    struct finding finding;
    char overrun[200];
    long iteration = (long)check->pattern.iteration;
    check_result(&check->pattern, rank, check_buffer(check, BUFFER_DESTINATION), &finding);
    rank_result_note_finding(rank_result, &finding, check->schedule, iteration);
    rank_result_note_source(rank_result, source_changes(check, rank), iteration);
    if (buffers_overrun(check->set, check->used, overrun, sizeof overrun))
        rank_result_note_overrun(rank_result, overrun, iteration);
}

/* Which injected fault is for this rank and this checked iteration? -1: none. */
static int injection_for(const struct checked_run *checked, uint64_t iteration)
{
    const struct job *job = checked->runner->job;
    for (int i = 0; i < job->injection_count; i++) {
        const struct injection *injection = &job->injections[i];
        bool data = injection->kind == INJECT_CORRUPT || injection->kind == INJECT_DROP;
        if (data && injection->rank == checked->runner->rank &&
            (uint64_t)injection->iteration == iteration)
            return i;
    }
    return -1;
}

static enum status check_run(struct checked_run *checked, struct check *check, uint64_t *released)
{
    const struct job *job = checked->runner->job;
    int injection = injection_for(checked, check->pattern.iteration);
    uint64_t late, duration;
    if (injection >= 0)
        executor_inject(check->executor,
                        job->injections[injection].kind == INJECT_DROP ? FAULT_DROP : FAULT_CORRUPT,
                        0);
    enum status status =
        runner_iterate(checked->runner, check->executor, released, &late, &duration);
    if (injection >= 0 && status == STATUS_OK) {
        checked->struck[injection] = !executor_inject_pending(check->executor);
        executor_inject(check->executor, FAULT_NONE, 0);
    }
    return status;
}

enum status checked_run_run(struct checked_run *checked, const struct test_case *test_case,
                            struct rank_result *rank_result)
{
    struct check checks[BUFFER_SETS_MOST];
    uint64_t released;
    enum status status = STATUS_OK;
    for (long done = 0, count; done < rank_result->checked && status == STATUS_OK; done += count) {
        count = rank_result->checked - done < test_case->sets ? rank_result->checked - done
                                                              : test_case->sets;
        for (int i = 0; i < count; i++)
            check_prepare(checked, test_case, i, &checks[i]);
        status = runner_settle(checked->runner, &released);
        for (int i = 0; i < count && status == STATUS_OK; i++)
            status = check_run(checked, &checks[i], &released);
        for (int i = 0; i < count && status == STATUS_OK; i++)
            check_look(&checks[i], checked->runner->rank, rank_result);
    }
    return status;
}

enum status checked_run_check_injections(const struct checked_run *checked)
{
    const struct job *job = checked->runner->job;
    for (int i = 0; i < job->injection_count; i++) {
        const struct injection *injection = &job->injections[i];
        if (injection->rank != checked->runner->rank || injection->kind == INJECT_DELAY ||
            checked->struck[i])
            continue;
        if (injection->kind == INJECT_KILL || injection->kind == INJECT_STOP)
            return fail(
                STATUS_ERROR,
                "--inject: this rank should have been hit at iteration %ld, but it ran only "
                "%ld",
                injection->iteration, checked->runner->iteration);
        return fail(STATUS_ERROR,
                    "--inject: there was no message to %s in checked iteration %ld: this rank had "
                    "%llu checked iterations, or received nothing in that one",
                    injection->kind == INJECT_DROP ? "drop" : "corrupt", injection->iteration,
                    (unsigned long long)checked->checks);
    }
    return STATUS_OK;
}
