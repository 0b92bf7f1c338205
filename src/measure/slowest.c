/*
 * slowest.c - the slowest rank of each timed iteration of a line.
 */
#include "measure/slowest.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "control/exchange.h"

/* A duration and the rank below it, in one word: the greatest word is the slowest rank's. */
#define RANK_BITS     20
#define DURATION_MOST (UINT64_MAX >> RANK_BITS) /* ns: 4.8 hours */
_Static_assert(JOB_RANKS_MOST <= 1 << RANK_BITS, "a rank fits below its duration");

static uint64_t word_of(uint64_t duration, int rank)
{
    uint64_t most = duration < DURATION_MOST ? duration : DURATION_MOST;
    return most << RANK_BITS | (uint64_t)rank;
}

/* Counts how often each rank was the slowest, and keeps the durations. */
static enum status slowest_unpack(struct slowest *slowest, int ranks)
{
    long *times = calloc((size_t)ranks, sizeof *times);
    if (!times)
        return fail(STATUS_ERROR, "out of memory for the slowest of %d ranks", ranks);
    slowest->rank = slowest->count > 0 ? 0 : -1;
    for (size_t i = 0; i < slowest->count; i++) {
        int rank = (int)(slowest->duration[i] & ((1u << RANK_BITS) - 1));
        if (rank >= ranks) {
            free(times);
            return fail(STATUS_ERROR, "a rank sent invalid samples: check that all ranks run the "
                                      "same version of cctest");
        }
        slowest->duration[i] >>= RANK_BITS;
        times[rank]++;
        if (times[rank] > times[slowest->rank])
            slowest->rank = rank;
    }
    slowest->times = slowest->count > 0 ? times[slowest->rank] : 0;
    free(times);
    return STATUS_OK;
}

size_t slowest_bytes(const struct job *job)
{
    return (size_t)job->iterations * sizeof(uint64_t);
}

enum status slowest_reduce(struct control *control, const struct rank_result *rank_result,
                           size_t iterations, struct slowest *slowest)
{
    int rank = control_rank(control);
    bool device = rank_result->device_samples != NULL;
    *slowest = (struct slowest){.count = iterations, .rank = -1};
    if (iterations == 0)
        return STATUS_OK;
    slowest->duration = malloc(iterations * sizeof *slowest->duration);
    slowest->device = device ? malloc(iterations * sizeof *slowest->device) : NULL;
    if (!slowest->duration || (device && !slowest->device))
        return fail(STATUS_ERROR, "out of memory for %zu samples: ask for fewer iterations (-n)",
                    iterations);
    for (size_t i = 0; i < iterations; i++)
        slowest->duration[i] = word_of(rank_result->samples[i], rank);
    if (device)
        memcpy(slowest->device, rank_result->device_samples, iterations * sizeof *slowest->device);
    enum status status = exchange_maximum(control, slowest->duration, iterations, "sample");
    if (status == STATUS_OK && device)
        status = exchange_maximum(control, slowest->device, iterations, "sample of devices");
    return status == STATUS_OK && rank == 0 ? slowest_unpack(slowest, control_ranks(control))
                                            : status;
}

void slowest_free(struct slowest *slowest)
{
    free(slowest->duration);
    free(slowest->device);
    *slowest = (struct slowest){0};
}
