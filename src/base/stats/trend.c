/*
 * trend.c - do the times of a line rise or fall while it runs?
 */
#include "base/stats/stats.h"

#include <math.h>
#include <stdlib.h>


#define THIRD (TREND_BLOCKS / 3)

/* The test of Mann and Kendall. */
static double kendall_z(const uint64_t block[TREND_BLOCKS])
{
    const double k = TREND_BLOCKS;
    int rises = 0;
    for (int i = 0; i < TREND_BLOCKS; i++)
        for (int later = i + 1; later < TREND_BLOCKS; later++)
            rises += (block[later] > block[i]) - (block[later] < block[i]);
    return (abs(rises) - 1) / sqrt(k * (k - 1) * (2 * k + 5) / 18);
}

struct trend trend_of(uint64_t *samples, size_t count, const struct tick *tick)
{
    uint64_t block[TREND_BLOCKS];
    if (count < TREND_BLOCKS)
        return (struct trend){0};
    for (size_t i = 0; i < TREND_BLOCKS; i++) {
        size_t first = count * i / TREND_BLOCKS, end = count * (i + 1) / TREND_BLOCKS;
        times_sort(&samples[first], end - first, tick);
        block[i] = samples[first + (end - first - 1) / 2];
    }
    double z = kendall_z(block);
    times_sort(block, THIRD, NULL);
    times_sort(&block[TREND_BLOCKS - THIRD], THIRD, NULL);
    double before = (double)block[THIRD / 2];
    double after = (double)block[TREND_BLOCKS - THIRD + THIRD / 2];
    if (z < TREND_Z || before <= 0 || fabs(after - before) < TREND_CHANGE * before)
        return (struct trend){0};
    return (struct trend){.change = after / before - 1, .z = z};
}
