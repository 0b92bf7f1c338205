/*
 * test_case.c - one size of one algorithm, made ready to run on sets of buffers.
 */
#include "run/test_case.h"

#include <stdlib.h>

#include "base/log.h"
#include "memory/reduce.h"

struct executor *test_case_executor(const struct test_case *test_case, long iteration, int set)
{
    int schedule = (int)(iteration % test_case->schedule_count);
    return test_case->executors[set * test_case->schedule_count + schedule];
}

static enum status test_case_build(const struct runner *runner, bool runs,
                                   struct test_case *test_case)
{
    const struct job *job = runner->job;
    int count = test_case->schedule_count;
    enum status status = STATUS_OK;
    test_case->schedules = calloc((size_t)count, sizeof *test_case->schedules);
    if (!test_case->schedules)
        return fail(STATUS_ERROR, "out of memory for %d schedules", count);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        struct problem problem = test_case->sized.problem;
        problem.root += i;
        status = schedule_build(test_case->choice, &problem, runner->rank, job->channels, runs,
                                &test_case->schedules[i]);
    }
    return status;
}

static enum status test_case_write(const struct runner *runner, const struct choice *choice,
                                   size_t bytes, bool runs, struct test_case *test_case)
{
    const struct job *job = runner->job;
    bool each_root = job->collective->rooted && job->root == ROOT_ALL;
    *test_case = (struct test_case){
        .choice = choice, .schedule_count = each_root ? runner->ranks : 1, .sets = 1};
    enum status status =
        job_problem(job, choice, bytes, runner->ranks, runner->shape, &test_case->sized);
    if (status == STATUS_OK)
        status = test_case_build(runner, runs, test_case);
    if (status != STATUS_OK)
        test_case_close(test_case);
    return status;
}

enum status test_case_outline(const struct runner *runner, const struct choice *choice,
                              size_t bytes, struct test_case *test_case)
{
    return test_case_write(runner, choice, bytes, false, test_case);
}

void test_case_close(struct test_case *test_case)
{
    for (int i = 0; test_case->executors && i < test_case->schedule_count * BUFFER_SETS_MOST; i++)
        executor_destroy(test_case->executors[i]);
    for (int i = 0; test_case->schedules && i < test_case->schedule_count; i++)
        schedule_free(test_case->schedules[i]);
    free(test_case->executors);
    free(test_case->schedules);
    free(test_case->peers);
    counts_free(test_case->sized.counts);
    *test_case = (struct test_case){0};
}

static bool set_is_enough(const struct buffers *set, const struct test_case *test_case,
                          size_t element)
{
    for (int i = 0; i < test_case->schedule_count; i++) {
        size_t bytes[BUFFERS];
        schedule_bytes(test_case->schedules[i], element, bytes);
        for (int b = 0; b < BUFFERS; b++)
            if (bytes[b] > set->bytes[b])
                return false;
    }
    return true;
}

static enum status test_case_open_executor(struct runner *runner, const struct schedule *schedule,
                                           const struct buffers *set, char *spare,
                                           struct executor **executor)
{
    const struct job *job = runner->job;
    struct executor_config config = runner_executor_config(runner);
    config.schedule = schedule;
    config.spare = spare;
    config.element = job->datatype->size;
    if (job->collective->reduces)
        config.reduce = reduce_kernel(job->datatype, job->reduction);
    if (job->collective->reduces)
        config.finish = finish_kernel(job->datatype, job->reduction);
    config.profile = runner->job->profile ? &runner->profile : NULL;
    for (int b = 0; b < BUFFERS; b++)
        config.buffer[b] = buffers_place(set, schedule, job->datatype->size, (enum buffer)b);
    return executor_create(&config, executor);
}

/* The messages of all timed iterations: the roots take turns. */
static void test_case_add_peers(struct test_case *test_case, long iterations)
{
    int count = test_case->schedule_count;
    for (int i = 0; i < count; i++)
        schedule_add_peers(test_case->schedules[i],
                           (uint64_t)(iterations / count + (i < iterations % count)),
                           test_case->peers);
}

static enum status test_case_open_executors(struct runner *runner, const struct buffers *sets,
                                            struct test_case *test_case)
{
    int count = test_case->schedule_count;
    enum status status = STATUS_OK;
    test_case->executors = calloc((size_t)count * BUFFER_SETS_MOST, sizeof *test_case->executors);
    test_case->peers = calloc((size_t)runner->ranks, sizeof *test_case->peers);
    if (!test_case->executors || !test_case->peers)
        return fail(STATUS_ERROR, "out of memory for %d schedules", count);
    test_case_add_peers(test_case, runner->job->iterations);
    for (int i = 0; i < count * test_case->sets && status == STATUS_OK; i++)
        status = test_case_open_executor(runner, test_case->schedules[i % count], &sets[i / count],
                                         sets[0].spare, &test_case->executors[i]);
    return status;
}

enum status test_case_open(struct runner *runner, const struct choice *choice, size_t bytes,
                           const struct buffers *sets, int count, struct test_case *test_case)
{
    enum status status = test_case_write(runner, choice, bytes, true, test_case);
    if (status != STATUS_OK)
        return status;
    while (test_case->sets < count &&
           set_is_enough(&sets[test_case->sets], test_case, runner->job->datatype->size))
        test_case->sets++;
    status = test_case_open_executors(runner, sets, test_case);
    if (status != STATUS_OK)
        test_case_close(test_case);
    return status;
}
