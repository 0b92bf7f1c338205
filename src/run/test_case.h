/*
 * test_case.h - one size of one algorithm, made ready to run on sets of buffers.
 */
#ifndef CCTEST_RUN_TEST_CASE_H
#define CCTEST_RUN_TEST_CASE_H

#include "run/runner.h"

#define BUFFER_SETS_MOST 4 /* sets of buffers that a line may run on */

/* One size of one algorithm, on one or more sets of buffers. Rooted collectives with `-r all` have
 * a schedule for each root. */
struct test_case {
    const struct choice *choice;
    struct sized_problem sized; /* of the first schedule */
    int plans;                  /* schedules */
    int sets;
    struct schedule **schedules;
    struct executor **executor; /* sets x plans */
};

/* The plan of root number `root` (of line->plans) on set `set`. */
struct executor *test_case_executor(const struct test_case *test_case, int root, int set);

/* Ready to run on as many of the `count` sets as are large enough, but at least the first. */
enum status test_case_open(struct runner *runner, const struct choice *choice, size_t bytes,
                           const struct buffers *sets, int count, struct test_case *test_case);
void test_case_close(struct test_case *test_case);

/* The schedules of a line without the plans: what memory, peers and lanes it will need. */
enum status test_case_schedules(const struct runner *runner, const struct choice *choice,
                                size_t bytes, struct test_case *test_case);

#endif
