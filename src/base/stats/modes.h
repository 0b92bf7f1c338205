/*
 * modes.h - do the times of a line gather around two values?
 *
 * The logarithms of the samples are cut in two where the variance between the parts is greatest (N.
 * Otsu, IEEE Transactions on Systems, Man and Cybernetics 9, 1979), with at least MODES_SHARE of the
 * samples in each. The medians of the parts stand for modes if there is a valley between them. A
 * density with one mode is nowhere lower than at both of two places around. So of three ranges of
 * equal width, around the first median, half-way, and around the second, the middle one would have as
 * many samples as the emptier of the others. It is a valley if it has a quarter of these at most, and
 * so few by a chance below 1e-4 (a binomial with 1/2). This supposes no distribution.
 */
#ifndef CCTEST_BASE_STATS_MODES_H
#define CCTEST_BASE_STATS_MODES_H

#include <stddef.h>
#include <stdint.h>

#define MODES_SHARE 0.1  /* of the samples: fewer are outliers */
#define MODES_APART 1.05 /* the greater median over the smaller, at least */

/* The faster mode first. */
struct modes {
    double median[2]; /* microseconds; both 0: the samples have one mode */
    double share[2];  /* of the samples, on either side of the valley; together 1 */
};

/* Of `count` ascending samples in nanoseconds. */
struct modes modes_of(const uint64_t *sorted, size_t count);

#endif
