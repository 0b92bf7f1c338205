/*
 * checker.c - runs checked iterations, several in a row.
 */
#include "run/session/internal.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "run/check/check.h"

#define SET_BYTES ((size_t)4 << 20) /* of a buffer of each set after the first, at most */

static int checker_sets(const struct job *job)
{
    long checked = job->checked == CHECKED_ALL ? job->iterations : job->checked;
    return checked < 1 ? 1 : checked < BUFFER_SETS_MOST ? (int)checked : BUFFER_SETS_MOST;
}

/* Bytes of one set, with at most `most` in each buffer; SIZE_MAX: no memory is that large. */
static size_t set_bytes(const struct job *job, const struct needs *needs, size_t most, size_t spare)
{
    size_t all = spare;
    for (int b = 0; b < BUFFERS; b++)
        if (__builtin_add_overflow(all, smaller(needs->bytes[b], most), &all))
            return SIZE_MAX;
    if (all > PTRDIFF_MAX / 2)
        return SIZE_MAX;
    return job->memory->host_reads ? memory_mapped(all + BUFFERS_MARGIN) : all;
}

size_t checker_bytes(const struct job *job, const struct needs *needs)
{
    size_t first = set_bytes(job, needs, SIZE_MAX, needs->dropped);
    size_t more = (size_t)(checker_sets(job) - 1) * set_bytes(job, needs, SET_BYTES, 0), all;
    return __builtin_add_overflow(first, more, &all) ? SIZE_MAX : all;
}

/* For a debugger, whose watchpoint shows what writes there. */
static void buffers_say(const struct buffers *buffers, int set)
{
    char places[200];
    struct text text = text_in(places, sizeof places);
    for (int b = 0; b < BUFFERS; b++)
        text_add(&text, "%s%s at %p (%zu bytes)", b ? ", " : "", buffer_names[b],
                 (void *)buffers->base[b], buffers->bytes[b]);
    say_verbose(2, "process %ld, set %d of buffers: %s", (long)getpid(), set, places);
}

enum status checker_open(struct checker *checker, struct runner *runner, const struct needs *needs)
{
    const struct job *job = runner->job;
    size_t less[BUFFERS];
    checker->runner = runner;
    for (int b = 0; b < BUFFERS; b++)
        less[b] = smaller(needs->bytes[b], SET_BYTES);
    while (checker->set_count < checker_sets(job)) {
        bool first = checker->set_count == 0;
        struct buffers *set = &checker->sets[checker->set_count];
        TRY(buffers_allocate(job->memory, first ? needs->bytes : less, first ? needs->dropped : 0,
                             &runner->tick, set));
        buffers_say(set, checker->set_count++);
    }
    return STATUS_OK;
}

void checker_close(struct checker *checker)
{
    while (checker->set_count)
        buffers_release(&checker->sets[--checker->set_count]);
}

/* One checked iteration: what it runs, on which set, and the expected pattern. */
struct check {
    struct execution *execution;
    const struct schedule *schedule;
    struct buffers *set;
    struct pattern pattern;
    size_t used[BUFFERS]; /* bytes; in place the inner buffer is part of the outer */
};

static char *check_buffer(const struct check *check, enum buffer buffer)
{
    return buffers_place(check->set, check->schedule, check->pattern.inputs.datatype->size, buffer);
}

/* Fills the buffers with poison, then the source with its pattern. */
static enum status check_fill(const struct memory *memory, int rank, struct check *check)
{
    for (int b = 0; b < BUFFERS; b++)
        TRY(memory->kind->fill(memory, check->set->base[b], PATTERN_POISON, check->used[b]));
    TRY(buffers_guard(memory, check->set, check->used));
    return memory->kind->make(memory, &check->pattern.inputs, rank, 0,
                              check->schedule->extent[BUFFER_SOURCE],
                              check_buffer(check, BUFFER_SOURCE));
}

/* `number`: of the iteration, among those of the test case. */
static enum status check_prepare(struct checker *checker, const struct test_case *test_case,
                                 long number, int set, struct check *check)
{
    const struct runner *runner = checker->runner;
    const struct candidate *candidate = test_case->candidate;
    int root = (int)(number % test_case->schedule_count);
    *check = (struct check){
        .execution = test_case_execution(test_case, root, set),
        .schedule = test_case->schedules[root],
        .set = &checker->sets[set],
        .pattern = {.problem = test_case->schedules[root]->problem,
                    .inputs =
                        job_inputs(runner->job, candidate, &runner->group, checker->checks++)},
    };
    schedule_bytes(check->schedule, candidate->datatype->size, check->used);
    return check_fill(&runner->memory, runner->group_rank, check);
}

/* Counts the elements of the source that have changed. In place, the part that the destination
 * covers may. */
static enum status source_changes(const struct memory *memory, const struct check *check, int rank,
                                  size_t *changed)
{
    const struct schedule *s = check->schedule;
    const char *source = check_buffer(check, BUFFER_SOURCE);
    size_t begin = s->base[BUFFER_SOURCE], end = begin + s->extent[BUFFER_SOURCE];
    size_t out = s->base[BUFFER_DESTINATION], out_end = out + s->extent[BUFFER_DESTINATION];
    if (!s->problem.in_place)
        return check_source(memory, &check->pattern, rank, source, 0, end - begin, changed);
    size_t before = out > begin ? out - begin : 0, after = end > out_end ? end - out_end : 0;
    size_t behind = 0;
    TRY(check_source(memory, &check->pattern, rank, source, 0, before, changed));
    TRY(check_source(memory, &check->pattern, rank, source, end - begin - after, after, &behind));
    *changed += behind;
    return STATUS_OK;
}

static enum status check_buffers(const struct memory *memory, const struct check *check, int rank,
                                 struct rank_result *rank_result)
{
    struct finding finding;
    struct overrun overrun;
    size_t changed;
    uint64_t iteration = check->pattern.inputs.iteration;
    TRY(check_result(memory, &check->pattern, rank, check_buffer(check, BUFFER_DESTINATION),
                     &finding));
    TRY(source_changes(memory, check, rank, &changed));
    TRY(buffers_overrun(memory, check->set, check->used, &overrun));
    rank_result_note_finding(rank_result, &finding, check->schedule);
    rank_result_note_source(rank_result, changed, iteration);
    if (overrun.bytes > 0)
        rank_result_note_overrun(rank_result, &overrun, iteration);
    return STATUS_OK;
}

/* The injected fault of this rank in this checked iteration; -1: none. */
static int injection_for(const struct checker *checker, uint64_t iteration)
{
    const struct job *job = checker->runner->job;
    for (int i = 0; i < job->injection_count; i++) {
        const struct injection *injection = &job->injections[i];
        if (injection_takes_message(injection) && injection->rank == checker->runner->rank &&
            (uint64_t)injection->iteration == iteration)
            return i;
    }
    return -1;
}

static enum status check_run(struct checker *checker, struct check *check, uint64_t *released,
                             struct iteration_times *times)
{
    const struct job *job = checker->runner->job;
    struct execution *execution = check->execution;
    int injection = injection_for(checker, check->pattern.inputs.iteration);
    if (injection >= 0)
        execution->hooks->inject(
            execution, job->injections[injection].kind == INJECT_DROP ? FAULT_DROP : FAULT_CORRUPT,
            0);
    TRY(runner_iterate(checker->runner, execution, released, times));
    if (injection >= 0) {
        checker->struck[injection] = !execution->hooks->inject_pending(execution);
        execution->hooks->inject(execution, FAULT_NONE, 0);
    }
    return STATUS_OK;
}

enum status checker_run(struct checker *checker, const struct test_case *test_case, long iterations,
                        struct rank_result *rank_result)
{
    struct check checks[BUFFER_SETS_MOST];
    uint64_t released;
    struct iteration_times times;
    for (long left = iterations, count; left > 0; left -= count) {
        count = left < test_case->sets ? left : test_case->sets;
        for (int i = 0; i < count; i++)
            TRY(check_prepare(checker, test_case, rank_result->checked++, i, &checks[i]));
        rank_result_resume(rank_result);
        TRY(runner_synchronize(checker->runner, &released));
        for (int i = 0; i < count; i++) {
            TRY(check_run(checker, &checks[i], &released, &times));
            if (checker->runner->job->checked == CHECKED_ALL)
                rank_result_note_times(rank_result, &times);
        }
        for (int i = 0; i < count; i++)
            TRY(check_buffers(&checker->runner->memory, &checks[i], checker->runner->group_rank,
                              rank_result));
    }
    return STATUS_OK;
}

enum status checker_check_injections(const struct checker *checker)
{
    const struct job *job = checker->runner->job;
    for (int i = 0; i < job->injection_count; i++) {
        const struct injection *injection = &job->injections[i];
        if (injection->rank != checker->runner->rank || injection->kind == INJECT_DELAY ||
            checker->struck[i])
            continue;
        if (!injection_takes_message(injection))
            return fail_option(
                STATUS_ERROR, "inject",
                "--inject: no fault was injected at iteration %ld, since this rank ran only %ld "
                "iterations",
                injection->iteration, checker->runner->iteration);
        return fail_option(
            STATUS_ERROR, "inject",
            "--inject: found no message to %s in checked iteration %ld: this rank ran %llu checked "
            "iterations, or received nothing in that one",
            injection->kind == INJECT_DROP ? "drop" : "corrupt", injection->iteration,
            (unsigned long long)checker->checks);
    }
    return STATUS_OK;
}
