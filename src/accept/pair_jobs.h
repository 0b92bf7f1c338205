/*
 * pair_jobs.h - measures disjoint pairs of hosts at the same time, into readings.
 *
 * Two jobs for each pair, one after the other: the first has the latency, the bandwidth from a to b
 * alone, and that in both directions at once; the second that from b to a alone.
 */
#ifndef CCTEST_ACCEPT_PAIR_JOBS_H
#define CCTEST_ACCEPT_PAIR_JOBS_H

#include "accept/acceptance.h"
#include "screening/reading.h"
#include "screening/rounds.h"

struct pair_jobs {
    struct acceptance *acceptance;
    double seconds; /* that the jobs of a round may take, */
    double budget;  /* and one line of a job (--budget) */
    int failures;   /* jobs that failed, so far */
};

/* Measures the pairs, and adds what came of each. The first call of an acceptance finds the size of
 * messages: so large that one takes a few milliseconds at the fleet's median rate. */
enum status pair_jobs_run(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count, struct readings *readings);

#endif
