/*
 * checked_run.h - checked iterations, several in a row.
 *
 * A burst prepares as many sets of buffers as it has iterations, each with other inputs, then runs
 * them in the job's start mode exactly as the timed iterations run, and only then looks. So what an
 * iteration leaves behind in slots and peers meets the next one, as it does when it is timed. Sizes
 * of which only one set fits are checked one by one.
 */
#ifndef CCTEST_SESSION_CHECKED_RUN_H
#define CCTEST_SESSION_CHECKED_RUN_H

#include "measure/rank_result.h"
#include "run/test_case.h"

struct checked_run {
    struct runner *runner;
    struct buffers sets[BUFFER_SETS_MOST];
    int set_count;
    uint64_t checks; /* checked iterations so far in the job: the patterns' iteration */
    bool struck[INJECTIONS_MOST]; /* injected faults of this rank that found a message */
};

/* Bytes that checked_run_open() will allocate. */
size_t checked_run_bytes(const struct job *job, const size_t need[BUFFERS]);

/* Allocates the sets: the first with `need` bytes of each buffer, the others with less if that is
 * much. */
enum status checked_run_open(struct checked_run *checked, struct runner *runner,
                             const size_t need[BUFFERS]);
void checked_run_close(struct checked_run *checked);

/* Runs the checked iterations of a line, and notes in the tally what they found. */
enum status checked_run_run(struct checked_run *checked, const struct test_case *test_case,
                            struct rank_result *rank_result);

/* A fault that was asked for and never struck is an error, not a silence. */
enum status checked_run_check_injections(const struct checked_run *checked);

#endif
