/*
 * statistics.h - percentiles and bandwidth from samples, and the rank that begins late.
 */
#ifndef CCTEST_BASE_STATS_STATISTICS_H
#define CCTEST_BASE_STATS_STATISTICS_H

#include <stdint.h>

#include "base/tick.h"

/* Microseconds. */
struct statistics {
    double min, p50, mean, p90, max;
    double p99; /* NAN: fewer samples than STATISTICS_P99_LEAST, of which it would be the largest */
};
#define STATISTICS_P99_LEAST 100

/* Ascending. Calls tick_on() now and then. */
void times_sort(uint64_t *times, size_t count, const struct tick *tick);

/* Of `count` samples in nanoseconds; sorts them. Percentiles by nearest rank (the smallest sample
 * that at least p percent do not exceed). All but p99 are 0 when count is 0. */
struct statistics statistics_of(uint64_t *samples, size_t count, const struct tick *tick);

/* GB/s = 1e9 bytes a second; 0 when the time is 0. */
double bandwidth_algorithm(size_t bytes, double microseconds);

/* Does one rank begin later than all others? `late[r]`: the median, in nanoseconds, of the time
 * between the start barrier's release and rank r's own beginning; `duration` the p50 of the
 * iterations. Returns the rank, or -1 where none stands out (twice the others' largest, and at
 * least a tenth of the duration and 20 microseconds). */
int statistics_late_rank(const uint64_t *late, int ranks, uint64_t duration);

#endif
