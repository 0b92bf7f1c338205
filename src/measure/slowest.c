/*
 * slowest.c - the slowest rank of each timed iteration of a line.
 */
#include "measure/slowest.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "control/exchange.h"
#include "measure/statistics.h"

/* A duration and the rank below it, in one word: the greatest word is the slowest rank's. */
#define RANK_BITS     20
#define DURATION_MOST (UINT64_MAX >> RANK_BITS) /* ns: 4.8 hours */
_Static_assert(JOB_RANKS_MOST <= 1 << RANK_BITS, "a rank fits below its duration");

static uint64_t word_of(uint64_t duration, int rank)
{
    uint64_t most = duration < DURATION_MOST ? duration : DURATION_MOST;
    return most << RANK_BITS | (uint64_t)rank;
}

/* Counts how often each rank was the slowest, and keeps the durations. From iteration `first` on. */
static enum status slowest_unpack(struct slowest *slowest, size_t first, int ranks)
{
    if (!slowest->often)
        slowest->often = calloc((size_t)ranks, sizeof *slowest->often);
    if (!slowest->often)
        return fail(STATUS_ERROR, "out of memory for the slowest of %d ranks", ranks);
    for (size_t i = first; i < slowest->count; i++) {
        int rank = (int)(slowest->duration[i] & ((1u << RANK_BITS) - 1));
        if (rank >= ranks)
            return fail(STATUS_ERROR, "a rank sent invalid samples: check that all ranks run the "
                                      "same version of cctest");
        slowest->duration[i] >>= RANK_BITS;
        slowest->often[rank]++;
        if (slowest->rank < 0 || slowest->often[rank] > slowest->times) {
            slowest->rank = rank;
            slowest->times = slowest->often[rank];
        }
    }
    return STATUS_OK;
}

size_t slowest_bytes(const struct job *job)
{
    const size_t arrays = job->iterations_auto ? 2 : 1; /* rank 0 sorts a copy for the interval */
    return (size_t)job->iterations * arrays * sizeof(uint64_t);
}

/* False: out of memory. */
static bool words_grow(uint64_t **words, size_t count)
{
    uint64_t *more = realloc(*words, count * sizeof *more);
    if (more)
        *words = more;
    return more != NULL;
}

enum status slowest_add(struct control *control, const struct rank_result *rank_result,
                        struct slowest *slowest)
{
    int rank = control_rank(control);
    bool device = rank_result->device_samples != NULL;
    size_t first = slowest->count, count = (size_t)rank_result->iterations, more = count - first;
    if (more == 0)
        return STATUS_OK;
    if (!words_grow(&slowest->duration, count) || (device && !words_grow(&slowest->device, count)))
        return fail(STATUS_ERROR, "out of memory for %zu samples: ask for fewer iterations (-n)",
                    count);
    slowest->count = count;
    for (size_t i = first; i < count; i++)
        slowest->duration[i] = word_of(rank_result->samples[i], rank);
    if (device)
        memcpy(&slowest->device[first], &rank_result->device_samples[first],
               more * sizeof *slowest->device);
    enum status status = exchange_maximum(control, &slowest->duration[first], more, "sample");
    if (status == STATUS_OK && device)
        status = exchange_maximum(control, &slowest->device[first], more, "sample of devices");
    return status == STATUS_OK && rank == 0 ? slowest_unpack(slowest, first, control_ranks(control))
                                            : status;
}

enum status slowest_interval(const struct slowest *slowest, uint64_t trips, const struct tick *tick,
                             struct median_interval *interval)
{
    uint64_t *sorted = malloc((slowest->count + 1) * sizeof *sorted);
    if (!sorted)
        return fail(STATUS_ERROR, "out of memory for %zu samples: ask for fewer iterations (-n)",
                    slowest->count);
    for (size_t i = 0; i < slowest->count; i++)
        sorted[i] = slowest->duration[i] / trips;
    times_sort(sorted, slowest->count, tick);
    *interval = median_interval_of(sorted, slowest->count);
    free(sorted);
    return STATUS_OK;
}

void slowest_free(struct slowest *slowest)
{
    free(slowest->duration);
    free(slowest->device);
    free(slowest->often);
    *slowest = (struct slowest){.rank = -1};
}
