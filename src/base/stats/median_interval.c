/*
 * median_interval.c - how well the median of the samples is known.
 */
#include "base/stats/stats.h"

/* P(B(n, 1/2) = floor(n/2)). For even n it is C(n, n/2) / 2^n, the product of (2i - 1) / 2i for i up
 * to n/2; an odd n has the value of n + 1. */
static double binomial_centre(size_t n)
{
    double probability = 1;
    for (size_t i = 1; i <= (n + 1) / 2; i++)
        probability *= (double)(2 * i - 1) / (double)(2 * i);
    return probability;
}

/* d, the number of the lower end, sought from the median outwards; 0: there is none. */
static size_t lower_end(size_t n, double *coverage)
{
    size_t d = n / 2;
    double probability = binomial_centre(n); /* P(B = d) */
    *coverage = n % 2 ? 2 * probability : probability;
    while (d > 0 && *coverage < MEDIAN_LEVEL) {
        probability *= (double)d / (double)(n - d + 1);
        d--;
        *coverage += 2 * probability;
    }
    return d;
}

struct median_interval median_interval_of(const uint64_t *sorted, size_t count)
{
    struct median_interval interval = {0};
    double coverage;
    size_t lower = lower_end(count, &coverage);
    if (lower == 0)
        return interval;
    interval.median = (double)sorted[(count - 1) / 2] * 1e-3; /* as statistics_of() has it */
    interval.low = (double)sorted[lower - 1] * 1e-3;
    interval.high = (double)sorted[count - lower] * 1e-3;
    interval.coverage = coverage;
    return interval;
}

double median_interval_margin(const struct median_interval *interval)
{
    double below = interval->median - interval->low, above = interval->high - interval->median;
    double farther = below > above ? below : above;
    return farther > 0 ? farther / interval->median : 0;
}

bool median_interval_is_narrow(const struct median_interval *interval)
{
    return interval->coverage > 0 && median_interval_margin(interval) <= MEDIAN_MARGIN;
}
