/*
 * test_case.h - one size of one algorithm, made ready to run on sets of buffers.
 */
#ifndef CCTEST_RUN_TEST_CASE_H
#define CCTEST_RUN_TEST_CASE_H

#include "run/runner.h"

#define BUFFER_SETS_MOST 4 /* sets of buffers that a test case may run on */

struct test_case {
    const struct choice *choice;
    struct sized_problem sized; /* of the first schedule */
    int schedule_count;         /* with `-r all` each rank is the root in turn; else 1 */
    int sets;                   /* of buffers that it runs on */
    struct schedule **schedules;
    struct execution **executions; /* sets x schedules */
    struct peer_use *peers;        /* by rank: the messages of all timed iterations */
};

/* Makes the executions for as many of the `count` sets as are large enough, but at least for the
 * first, whose spare area serves all. On success the caller calls test_case_close(). */
enum status test_case_open(struct runner *runner, const struct choice *choice, size_t bytes,
                           const struct buffers *sets, int count, struct test_case *test_case);
/* The schedules alone, which cannot run: what they need can be read from them. On success the
 * caller calls test_case_close(). */
enum status test_case_outline(const struct runner *runner, const struct choice *choice,
                              size_t bytes, struct test_case *test_case);
void test_case_close(struct test_case *test_case);

/* What runs for the root of an iteration. */
struct execution *test_case_execution(const struct test_case *test_case, long iteration, int set);

#endif
