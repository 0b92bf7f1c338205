/*
 * trend.h - do the times of a line rise or fall while it runs?
 *
 * The samples are cut, in order of time, into TREND_BLOCKS blocks of equal length. The test is that
 * of Mann and Kendall on the medians of the blocks (M. G. Kendall, Rank Correlation Methods, 4th
 * edition, 1975), which supposes no distribution: with S the pairs of blocks that rise less those
 * that fall, z = (|S| - 1) / sqrt(k (k - 1) (2k + 5) / 18) for k blocks. The change is that from the
 * first third of the line to the last. Medians let outliers pass, and noise that is slower than an
 * iteration but faster than a block.
 */
#ifndef CCTEST_BASE_STATS_TREND_H
#define CCTEST_BASE_STATS_TREND_H

#include <stddef.h>
#include <stdint.h>

#include "base/tick.h"

#define TREND_BLOCKS 18   /* six in a third; fewer samples have no trend */
#define TREND_Z      3.29 /* of lines without a trend, one in 1000 comes so far */
#define TREND_CHANGE 0.05 /* smaller changes are not told */

struct trend {
    double change; /* of the median, as a share of the first third's; 0: there is no trend */
    double z;
};

/* Of `count` samples in order of time. Sorts those of each block, and so loses the order. */
struct trend trend_of(uint64_t *samples, size_t count, const struct tick *tick);

#endif
