/*
 * test_case.c - one size of one algorithm, made ready to run on sets of buffers.
 */
#include "run/test_case.h"

#include <stdlib.h>

#include "base/log.h"
#include "memory/reduce.h"

struct executor *test_case_executor(const struct test_case *test_case, int root, int set)
{
    return test_case->executor[set * test_case->plans + root];
}

enum status test_case_schedules(const struct runner *runner, const struct choice *choice,
                                size_t bytes, struct test_case *test_case)
{
    const struct job *job = runner->job;
    bool rotates = job->collective->rooted && job->root == ROOT_ALL;
    *test_case =
        (struct test_case){.choice = choice, .plans = rotates ? runner->ranks : 1, .sets = 1};
    enum status status =
        job_problem(job, choice, bytes, runner->ranks, runner->shape, &test_case->sized);
    if (status != STATUS_OK)
        return status;
    test_case->schedules = calloc((size_t)test_case->plans, sizeof *test_case->schedules);
    test_case->executor =
        calloc((size_t)test_case->plans * BUFFER_SETS_MOST, sizeof *test_case->executor);
    if (!test_case->schedules || !test_case->executor)
        status = fail(STATUS_ERROR, "out of memory for %d schedules", test_case->plans);
    for (int i = 0; i < test_case->plans && status == STATUS_OK; i++) {
        struct problem problem = test_case->sized.problem;
        problem.root += i;
        status =
            schedule_build(choice, &problem, runner->rank, job->channels, &test_case->schedules[i]);
    }
    if (status != STATUS_OK)
        test_case_close(test_case);
    return status;
}

void test_case_close(struct test_case *test_case)
{
    for (int i = 0; test_case->executor && i < test_case->plans * BUFFER_SETS_MOST; i++)
        executor_destroy(test_case->executor[i]);
    for (int i = 0; test_case->schedules && i < test_case->plans; i++)
        schedule_free(test_case->schedules[i]);
    free(test_case->executor);
    free(test_case->schedules);
    counts_free(test_case->sized.counts);
    *test_case = (struct test_case){0};
}

static bool set_is_enough(const struct buffers *set, const struct test_case *test_case,
                          size_t element)
{
    for (int i = 0; i < test_case->plans; i++) {
        size_t bytes[BUFFERS];
        schedule_bytes(test_case->schedules[i], element, bytes);
        for (int b = 0; b < BUFFERS; b++)
            if (bytes[b] > set->bytes[b])
                return false;
    }
    return true;
}

static enum status test_case_open_executor(struct runner *runner, const struct schedule *schedule,
                                           const struct buffers *set, struct executor **executor)
{
    const struct job *job = runner->job;
    struct executor_config config = runner_executor_config(runner);
    config.schedule = schedule;
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

enum status test_case_open(struct runner *runner, const struct choice *choice, size_t bytes,
                           const struct buffers *sets, int count, struct test_case *test_case)
{
    const struct job *job = runner->job;
    enum status status = test_case_schedules(runner, choice, bytes, test_case);
    if (status != STATUS_OK)
        return status;
    while (test_case->sets < count &&
           set_is_enough(&sets[test_case->sets], test_case, job->datatype->size))
        test_case->sets++;
    for (int i = 0; i < test_case->plans * test_case->sets && status == STATUS_OK; i++)
        status = test_case_open_executor(runner, test_case->schedules[i % test_case->plans],
                                         &sets[i / test_case->plans], &test_case->executor[i]);
    if (status != STATUS_OK)
        test_case_close(test_case);
    return status;
}
