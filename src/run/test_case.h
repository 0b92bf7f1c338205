/*
 * test_case.h - one size of one algorithm, made ready to run on sets of buffers.
 */
#ifndef CCTEST_RUN_TEST_CASE_H
#define CCTEST_RUN_TEST_CASE_H

#include "dataplane/execute/step_clock.h"
#include "run/runner.h"

#define BUFFER_SETS_MOST 4 /* sets of buffers that a test case may run on */
#define CLOCK_STEPS_MOST 4096

/* What runs a test case, the same at all ranks. */
struct test_case_way {
    bool on_device;
    char why_host[GROUP_REASON_MOST]; /* why not on devices; "": that was not asked for */
};

struct test_case {
    const struct candidate *candidate;
    struct sized_problem sized; /* of the first schedule */
    int channels;               /* of each schedule */
    int schedule_count;         /* with `-r all` each rank is the root in turn; else 1 */
    int sets;                   /* of buffers that it runs on */
    struct test_case_way way;
    struct schedule **schedules;
    struct execution **executions; /* sets x schedules */
    struct peer_use *peers;        /* by rank: see test_case_count_peers() */
    struct step_clock clock; /* of the host's executions; without steps: the job asks for none, or
                                there are several schedules, or more steps than can be of use */
};

/* Makes the schedules, and finds how many of the `count` sets are large enough, but at least the
 * first. test_case->way: what this rank can do. On success the caller calls test_case_close(). */
enum status test_case_open(struct runner *runner, const struct candidate *candidate, size_t bytes,
                           const struct buffers *sets, int count, struct test_case *test_case);
/* Makes the executions for its sets of buffers, the first of which has the spare area of all.
 * Before it the ranks have agreed on `sets` and `way`; after it they meet before any of them
 * runs. */
enum status test_case_ready(struct runner *runner, const struct buffers *sets,
                            struct test_case *test_case);
/* The schedules alone, which cannot run: what they need can be read from them. On success the
 * caller calls test_case_close(). */
enum status test_case_outline(const struct runner *runner, const struct candidate *candidate,
                              size_t bytes, int channels, struct test_case *test_case);
/* The channels that it has if devices run it, which hold `most` (channel_count.h). Where none may,
 * those of the host. */
int test_case_device_channels(const struct job *job, const struct test_case *test_case, int most);
/* The messages of so many iterations; the roots take turns. Before the first call they are none, but
 * it is known which ranks are peers. */
void test_case_count_peers(struct test_case *test_case, int ranks, long iterations);
/* The executions go; test_case_ready() may make others. */
void test_case_unready(struct test_case *test_case);
void test_case_close(struct test_case *test_case);

/* What runs for the root of an iteration. */
struct execution *test_case_execution(const struct test_case *test_case, long iteration, int set);

#endif
