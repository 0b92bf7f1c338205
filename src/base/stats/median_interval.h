/*
 * median_interval.h - how well the median of the samples is known.
 *
 * The confidence interval is nonparametric: its ends are two of the sorted samples. Of n samples
 * x(1) <= ... <= x(n) of any continuous distribution, the number below the distribution's median is
 * binomial with n and 1/2, so
 *
 *     P(x(d) <= median <= x(n+1-d)) = 1 - 2 P(B(n, 1/2) <= d - 1)
 *
 * (H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, 2003, section 7.1). d is the
 * largest with a probability of MEDIAN_LEVEL at least. The samples are taken for independent: a
 * trend (trend.h) or slow noise makes the interval too narrow.
 */
#ifndef CCTEST_BASE_STATS_MEDIAN_INTERVAL_H
#define CCTEST_BASE_STATS_MEDIAN_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEDIAN_LEVEL         0.95
#define MEDIAN_SAMPLES_LEAST 6 /* fewer samples have no interval of that level: 1 - 2/2^5 < 0.95 */
#define MEDIAN_MARGIN        0.02 /* of the median, to each side: so well `-n auto` wants it known */

struct median_interval {
    double median;    /* the p50, in microseconds */
    double low, high; /* microseconds */
    double coverage;  /* the probability above; 0: too few samples, and no interval */
};

/* Of `count` ascending samples in nanoseconds. */
struct median_interval median_interval_of(const uint64_t *sorted, size_t count);

/* The farther end from the median, as a share of the median. The interval is there. */
double median_interval_margin(const struct median_interval *interval);

/* Is it there, and within MEDIAN_MARGIN? */
bool median_interval_is_narrow(const struct median_interval *interval);

#endif
