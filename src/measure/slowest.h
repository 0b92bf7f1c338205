/*
 * slowest.h - the slowest rank of each timed iteration of a line.
 *
 * The ranks reduce their samples on the way to rank 0, so what rank 0 holds grows with the
 * iterations and not with the ranks.
 */
#ifndef CCTEST_MEASURE_SLOWEST_H
#define CCTEST_MEASURE_SLOWEST_H

#include "control/control.h"
#include "measure/rank_result.h"

/* At rank 0. */
struct slowest {
    size_t count;       /* iterations */
    uint64_t *duration; /* of each: the slowest rank's, from release to end, ns */
    uint64_t *device;   /* of each: the most that a device took for it, ns; NULL: none ran them */
    int rank;           /* that was the slowest most often, -1: no iterations; and how often. Of */
    long times;         /* ranks that end at the same ns, the highest counts */
};

/* Bytes that slowest_reduce() takes on each rank where no device runs the line. */
size_t slowest_bytes(const struct job *job);

/* All ranks call it together, each with its own part of the line; the others than rank 0 get
 * nothing. Free with slowest_free(), also after an error. Errors: out of memory, or as
 * control_maximum(). */
enum status slowest_reduce(struct control *control, const struct rank_result *rank_result,
                           size_t iterations, struct slowest *slowest);
void slowest_free(struct slowest *slowest);

#endif
