/*
 * slowest.h - the slowest rank of each timed iteration of a line, in each group.
 *
 * The ranks reduce their samples on the way to rank 0, so what rank 0 holds grows with the
 * iterations and the groups, and not with the ranks.
 */
#ifndef CCTEST_RUN_RESULTS_SLOWEST_H
#define CCTEST_RUN_RESULTS_SLOWEST_H

#include "controlplane/control/control.h"
#include "base/stats/median_interval.h"
#include "run/results/rank_result.h"
#include "run/results/sampling.h"

/* The rank of a group that was the slowest most often, the first of several. */
struct slowest_rank {
    int rank;   /* of the job; -1: there are no iterations */
    long times; /* how often; of ranks that end at the same ns, the highest counts */
};

struct slowest {
    const struct split *split; /* the groups */
    size_t count;              /* iterations */
    enum sampling_end end;     /* why there are no more */
    /* At rank 0. Iteration by iteration, in order of time, a word of each group: */
    uint64_t *duration;      /* the slowest rank's, release to end, ns */
    uint64_t *device;        /* the most that a device took for it, ns; NULL: none ran them */
    struct slowest_rank *of; /* by group */
    long *often;             /* by rank: iterations in which it was the slowest of its group */
};

/* Bytes that it takes at most where no device runs the line: at rank 0 a word for each group and
 * iteration, and one group's as they are looked at; at another rank what an exchange carries at once. */
size_t slowest_bytes(const struct job *job, const struct split *split, int rank);

/* `split` outlives it. Free with slowest_close(), also after an error. */
enum status slowest_open(struct slowest *slowest, const struct split *split, int rank);

/* Adds the iterations of this rank's part of the line that it has not yet. All ranks call it
 * together; the others than rank 0 get nothing. Errors: out of memory, or as control_maximum(). */
enum status slowest_add(struct control *control, const struct rank_result *rank_result,
                        struct slowest *slowest);

/* At rank 0: copies the times of a group, each divided by `trips`, from `words` (duration or device)
 * to `to`, which has room for all iterations. */
void slowest_copy(const struct slowest *slowest, const uint64_t *words, int group, uint64_t trips,
                  uint64_t *to);

/* At rank 0: of the intervals of the groups' medians the widest, in relation to its median. Each
 * duration has so many trips. */
enum status slowest_interval(const struct slowest *slowest, uint64_t trips, const struct tick *tick,
                             struct median_interval *interval);
void slowest_close(struct slowest *slowest); /* zeroed is allowed */

#endif
