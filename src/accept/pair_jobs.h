/*
 * pair_jobs.h - measures disjoint pairs of hosts at the same time, into readings.
 *
 * Two jobs for each pair, one after the other: the first has the latency, the bandwidth from a to b
 * alone, and that in both directions at once; the second that from b to a alone. Both are run on one
 * rail after the other.
 */
#ifndef CCTEST_ACCEPT_PAIR_JOBS_H
#define CCTEST_ACCEPT_PAIR_JOBS_H

#include <stdint.h>

#include "accept/acceptance.h"
#include "accept/failed_jobs.h"
#include "accept/judge/reading.h"
#include "accept/judge/rounds.h"

struct pair_jobs {
    struct acceptance *acceptance;
    double seconds;            /* that the jobs of a round may take, */
    double budget;             /* and one line of a job (--budget) */
    struct failed_jobs failed; /* so far: for failed_jobs_free() */
};

/* With the times of pairs and isolate, which --quick shortens. */
struct pair_jobs pair_jobs_open(struct acceptance *acceptance);

/* Before the first measurement: tries each rail with these pairs. A rail that fails with more than half
 * of them is told, and dropped. Finds the size of messages: so large that one takes a few milliseconds
 * at the fleet's median rate. */
enum status pair_jobs_try(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count);

/* Measures the pairs on some rails (1 << rail), and adds what came of each. A pair is not measured on a
 * rail that one of its hosts lacks, nor on one for which the stage's time does not suffice. */
enum status pair_jobs_run(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count, uint64_t rails,
                          struct readings *readings);

#endif
