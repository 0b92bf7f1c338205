/*
 * statistics.c - percentiles and bandwidth from samples, and the rank that begins late.
 */
#include "base/stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define COMPARISONS_A_TICK (1 << 20) /* some ms */

/* Millions of times take a core a second, and longer where ranks share it: this is progress. */
struct sorting {
    const struct tick *tick;
    size_t comparisons;
};

static int compare_times(const void *a, const void *b, void *argument)
{
    struct sorting *sorting = argument;
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    if (++sorting->comparisons % COMPARISONS_A_TICK == 0)
        tick_on(sorting->tick); /* it ends soon, also if the job has ended */
    return (left > right) - (left < right);
}

void times_sort(uint64_t *times, size_t count, const struct tick *tick)
{
    struct sorting sorting = {.tick = tick};
    qsort_r(times, count, sizeof *times, compare_times, &sorting);
}

/* Nearest rank: the smallest of the sorted samples that at least `percent` of them do not exceed.
 */
static double percentile(const uint64_t *sorted, size_t count, unsigned percent)
{
    /* ceil(count * percent / 100), in two parts so that it cannot overflow. */
    size_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
    return (double)sorted[rank - 1] * 1e-3;
}

struct statistics statistics_of(uint64_t *samples, size_t count, const struct tick *tick)
{
    if (count == 0)
        return (struct statistics){.p99 = NAN};
    times_sort(samples, count, tick);
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += (double)samples[i];
    return (struct statistics){
        .min = (double)samples[0] * 1e-3,
        .p50 = percentile(samples, count, 50),
        .mean = total / (double)count * 1e-3,
        .p90 = percentile(samples, count, 90),
        .p99 = count < STATISTICS_P99_LEAST ? NAN : percentile(samples, count, 99),
        .max = (double)samples[count - 1] * 1e-3,
    };
}

double bandwidth_algorithm(size_t bytes, double microseconds)
{
    return microseconds > 0 ? (double)bytes / (microseconds * 1e3) : 0;
}

int statistics_late_rank(const uint64_t *late, int ranks, uint64_t duration)
{
    if (ranks < 2)
        return -1;
    int latest = 0;
    for (int rank = 1; rank < ranks; rank++) {
        if (late[rank] > late[latest])
            latest = rank;
    }
    uint64_t others = 0;
    for (int rank = 0; rank < ranks; rank++) {
        if (rank != latest && late[rank] > others)
            others = late[rank];
    }
    const uint64_t least = 20000;
    uint64_t most = late[latest];
    return most >= least && most >= duration / 10 && most / 2 >= others ? latest : -1;
}
