/*
 * stats.h - the interface of base/stats/.
 */
#ifndef CCTEST_BASE_STATS_STATS_H
#define CCTEST_BASE_STATS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/tick.h"

/* ---- Numbers sorted into bins, which lie one behind the other in one array. ---- */

struct bins {
    int count;
    size_t *start; /* [count + 1]: where each bin begins in `values` */
    size_t *used;  /* [count] */
    double *values;
};

/* Two passes fill bins: bins_count() of each number's bin, bins_reserve(), bins_put() of each
 * number. Their memory is the arena's. */
void bins_create(struct bins *bins, struct arena *memory, int count);
void bins_count(struct bins *bins, int bin);
void bins_reserve(struct bins *bins, struct arena *memory);
void bins_put(struct bins *bins, int bin, double number);
void bins_empty(struct bins *bins); /* which have room for as many again */

/* The numbers of a bin; how many. */
double *bins_of(const struct bins *bins, int bin);
size_t bins_size(const struct bins *bins, int bin);

/* ---- How well the median of the samples is known.
 *
 * The confidence interval is nonparametric: its ends are two of the sorted samples. Of n samples
 * x(1) <= ... <= x(n) of any continuous distribution, the number below the distribution's median is
 * binomial with n and 1/2, so
 *
 *     P(x(d) <= median <= x(n+1-d)) = 1 - 2 P(B(n, 1/2) <= d - 1)
 *
 * (H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, 2003, section 7.1). d is the
 * largest with a probability of MEDIAN_LEVEL at least. The samples are taken for independent: a
 * trend (stats.h) or slow noise makes the interval too narrow.
 * ---- */

#define MEDIAN_LEVEL         0.95
#define MEDIAN_SAMPLES_LEAST 6 /* fewer samples have no interval of that level: 1 - 2/2^5 < 0.95 */
#define MEDIAN_MARGIN        0.02 /* of the median, to each side: what `-n auto` asks for */

struct median_interval {
    double median;    /* the p50, in microseconds */
    double low, high; /* microseconds */
    double coverage;  /* the probability above; 0: too few samples, and no interval */
};

/* The interval of `count` ascending samples in nanoseconds. */
struct median_interval median_interval_of(const uint64_t *sorted, size_t count);

/* The farther end from the median, as a share of the median. The interval is there. */
double median_interval_margin(const struct median_interval *interval);

/* Is it there, and within MEDIAN_MARGIN? */
bool median_interval_is_narrow(const struct median_interval *interval);

/* ---- Do the times of a line gather around two values?
 *
 * The logarithms of the samples are cut in two where the variance between the parts is greatest (N.
 * Otsu, IEEE Transactions on Systems, Man and Cybernetics 9, 1979), with at least MODES_SHARE of
 * the samples in each. The medians of the parts stand for modes if there is a valley between them.
 * A density with one mode is nowhere lower than at both of two places around. So of three ranges of
 * equal width, around the first median, half-way, and around the second, the middle one would have
 * as many samples as the emptier of the others. It is a valley if it has a quarter of these at
 * most, and so few by a chance below 1e-4 (a binomial with 1/2). This supposes no distribution.
 * ---- */

#define MODES_SHARE 0.1  /* of the samples: fewer are outliers */
#define MODES_APART 1.05 /* the greater median over the smaller, at least */

/* The faster mode first. */
struct modes {
    double median[2]; /* microseconds; both 0: the samples have one mode */
    double share[2];  /* of the samples, on either side of the valley; together 1 */
};

/* The modes of `count` ascending samples in nanoseconds. */
struct modes modes_of(const uint64_t *sorted, size_t count);

/* ---- The statistics of an acceptance run: what is the middle of a fleet, how far do healthy
 * hosts lie from it, how far off is an outlier, and how often must an outlier be seen again.
 *
 * All of them stand up to faulty hosts among the values: up to half of the values may be anything.
 * ---- */

/* With fewer hosts there is no middle that they can be compared with. */
#define HOSTS_COMPARED 4

/* The middle of a set of values, and their spread: an estimate of the standard deviation. */
struct spread {
    size_t count;
    double median, deviation; /* both 0 where count is 0 */
};

/* The k-th smallest of `count` values, k from 0; reorders them. No value is a NaN. (Hoare,
 * "Algorithm 65: Find", CACM 1961.) */
double select_value(double *values, size_t count, size_t k);

/* The median; the mean of the two in the middle where the count is even. 0 of none. Reorders the
 * values. */
double median_of(double *values, size_t count);

/*
 * The median and the median absolute deviation from it, MAD, as an estimate of the standard
 * deviation:
 *
 *     deviation = 1.4826 * b * MAD,   b = count / (count - 0.8)
 *
 * 1.4826 = 1 / 0.6745, the upper quartile of the normal distribution, makes it consistent for
 * normal values (Hampel, "The influence curve and its role in robust estimation", JASA 1974); b
 * takes away the bias of few values, and is tabulated below 10 (Croux, Rousseeuw, "Time-efficient
 * algorithms for two highly robust estimators of scale", 1992). 0 for fewer than two values.
 * Reorders the values, and replaces them by their deviations.
 */
struct spread spread_of(double *values, size_t count);

/*
 * How many deviations off is an outlier, where `judged` values are judged and `alarms` of them may
 * be false alarms? The tail of healthy values is taken for a Laplace distribution's, which is
 * heavier than the normal one: noise of networks has outliers. There P(value - median > x) =
 * exp(-x / s) / 2, and the MAD is s * ln 2, which makes the deviation above d = 1.4826 * ln 2 * s =
 * 1.0277 * s. From judged * P = alarms (Bonferroni's inequality, so the values may depend on each
 * other):
 *
 *     factor = ln(judged / (2 * alarms)) / 1.0277
 *
 * At least 3. With alarms = 0.01: 5.2 for 4 values, 7.9 for 64, 11.9 for 4,096.
 */
double spread_factor(double judged, double alarms);

/* P(at least `hits` of `tries` are hits), where each is one with the probability `chance`: the
 * tail of the binomial distribution. */
double binomial_tail(int tries, int hits, double chance);

/* ---- stats.c ---- */

/* Microseconds. */
struct statistics {
    double min, p50, mean, p90, max;
    double p99; /* NAN: fewer samples than STATISTICS_P99_LEAST, of which it would be the largest */
};
#define STATISTICS_P99_LEAST 100

/* Ascending. Calls tick_on() now and then. */
void times_sort(uint64_t *times, size_t count, const struct tick *tick);

/* Statistics of `count` samples in nanoseconds; sorts them. Percentiles by nearest rank (the
 * smallest sample that at least p percent do not exceed). All but p99 are 0 when count is 0. */
struct statistics statistics_of(uint64_t *samples, size_t count, const struct tick *tick);

/* GB/s = 1e9 bytes a second; 0 when the time is 0. */
double bandwidth_algorithm(size_t bytes, double microseconds);

/* Does one rank begin later than all others? `late[r]`: the median, in nanoseconds, of the time
 * between the start barrier's release and rank r's own beginning; `duration` the p50 of the
 * iterations. Returns the rank, or -1 where none stands out (twice the others' largest, and at
 * least a tenth of the duration and 20 microseconds). */
int statistics_late_rank(const uint64_t *late, int ranks, uint64_t duration);

/* ---- Do the times of a line rise or fall while it runs?
 *
 * The samples are cut, in order of time, into TREND_BLOCKS blocks of equal length. The test is that
 * of Mann and Kendall on the medians of the blocks (M. G. Kendall, Rank Correlation Methods, 4th
 * edition, 1975), which supposes no distribution: with S the pairs of blocks that rise less those
 * that fall, z = (|S| - 1) / sqrt(k (k - 1) (2k + 5) / 18) for k blocks. The change is that from
 * the first third of the line to the last. Medians let outliers pass, and noise that is slower than
 * an iteration but faster than a block.
 * ---- */

#define TREND_BLOCKS 18   /* six in a third; fewer samples have no trend */
#define TREND_Z      3.29 /* of lines without a trend, one in 1000 comes so far */
#define TREND_CHANGE 0.05 /* smaller changes are not told */

struct trend {
    double change; /* of the median, as a share of the first third's; 0: there is no trend */
    double z;
};

/* The trend of `count` samples in order of time. Sorts those of each block, and so loses the
 * order. */
struct trend trend_of(uint64_t *samples, size_t count, const struct tick *tick);

#endif
