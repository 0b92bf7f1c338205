/*
 * spread.h - the statistics of an acceptance run: what is the middle of a fleet, how far do healthy
 * hosts lie from it, how far off is an outlier, and how often must an outlier be seen again.
 *
 * All of them stand up to sick hosts among the values: up to half of the values may be anything.
 */
#ifndef CCTEST_BASE_STATS_SPREAD_H
#define CCTEST_BASE_STATS_SPREAD_H

#include <stddef.h>

/* With fewer there is no middle that hosts can be held against. */
#define HOSTS_COMPARED 4

/* The expected number of false accusations that a run may cost. */
#define FALSE_ALARMS 0.01

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
 * be accused by chance? The tail of healthy values is taken for a Laplace distribution's, which is
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

#endif
