/*
 * slowest.h - the slowest rank of each timed iteration of a line.
 *
 * The ranks reduce their samples on the way to rank 0, so what rank 0 holds grows with the
 * iterations and not with the ranks.
 */
#ifndef CCTEST_MEASURE_SLOWEST_H
#define CCTEST_MEASURE_SLOWEST_H

#include "control/control.h"
#include "measure/median_interval.h"
#include "measure/rank_result.h"
#include "measure/sampling.h"

/* At rank 0. Begins as {.rank = -1}. */
struct slowest {
    size_t count;       /* iterations */
    uint64_t *duration; /* of each, in order of time: the slowest rank's, release to end, ns */
    uint64_t *device;   /* of each: the most that a device took for it, ns; NULL: none ran them */
    long *often;        /* by rank: iterations in which it was the slowest; of ranks that end at
                              the same ns, the highest counts. NULL: no iterations */
    int rank;           /* the first that was it most often; -1: no iterations */
    long times;         /* how often */
    enum sampling_end end; /* why there are no more iterations */
};

/* Bytes that it takes at most on each rank where no device runs the line. */
size_t slowest_bytes(const struct job *job);

/* Adds the iterations of this rank's part of the line that it has not yet. All ranks call it
 * together; the others than rank 0 get nothing. Free with slowest_free(), also after an error.
 * Errors: out of memory, or as control_maximum(). */
enum status slowest_add(struct control *control, const struct rank_result *rank_result,
                        struct slowest *slowest);

/* At rank 0: the interval of the median of all durations, each of so many trips. They stay as they
 * are. */
enum status slowest_interval(const struct slowest *slowest, uint64_t trips, const struct tick *tick,
                             struct median_interval *interval);
void slowest_free(struct slowest *slowest);

#endif
