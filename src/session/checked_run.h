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
#include "run/runner.h"

struct burst {
    struct runner *runner;
    struct buffers sets[BURST_MOST];
    int set_count;
    uint64_t checks; /* checked iterations so far in the job: the patterns' iteration */
    bool struck[INJECTIONS_MOST]; /* injected faults of this rank that found a message */
};

/* Allocates the sets: the first with `need` bytes of each buffer, the others with what is
 * sensible. */
enum status burst_open(struct burst *burst, struct runner *runner, const size_t need[BUFFERS]);
void burst_close(struct burst *burst);

/* Runs the checked iterations of a line, and notes in the tally what they found. */
enum status burst_run(struct burst *burst, const struct line *line, struct tally *tally);

/* A fault that was asked for and never struck is an error, not a silence. */
enum status burst_check_injections(const struct burst *burst);

#endif
