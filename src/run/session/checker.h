/*
 * checker.h - runs checked iterations, several in a row.
 *
 * The checker prepares several sets of buffers, each with other inputs. It then runs an iteration
 * on each set, in the job's start mode, exactly as timed iterations run. Only then does it compare
 * the results. So what an iteration leaves behind in slots and peers meets the next one, as it does
 * when it is timed. Sizes of which only one set fits are checked one by one.
 */
#ifndef CCTEST_RUN_SESSION_CHECKER_H
#define CCTEST_RUN_SESSION_CHECKER_H

#include "run/results/rank_result.h"
#include "run/test_case.h"
#include "run/session/survey.h"

struct checker {
    struct runner *runner;
    struct buffers sets[BUFFER_SETS_MOST];
    int set_count;
    uint64_t checks;              /* iterations so far in the job; they number the patterns */
    bool struck[INJECTIONS_MOST]; /* injected faults of this rank that found a message */
};

/* Bytes that checker_open() will allocate. */
size_t checker_bytes(const struct job *job, const struct needs *needs);

/* Allocates the sets: the first with all that the test cases need, the others with less if that is
 * much, and without a spare area. */
enum status checker_open(struct checker *checker, struct runner *runner, const struct needs *needs);
void checker_close(struct checker *checker);

/* Runs the next checked iterations of a test case, and notes in its result what they found. If
 * these are the timed ones (CHECKED_ALL), notes also their times: what is done before and after an
 * iteration is outside of its time. */
enum status checker_run(struct checker *checker, const struct test_case *test_case, long iterations,
                        struct rank_result *rank_result);

/* Fails if a fault was asked for and never injected. */
enum status checker_check_injections(const struct checker *checker);

#endif
