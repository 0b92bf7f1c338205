/*
 * spread.c - medians, deviations and tails.
 */
#include "base/stats/stats.h"

#include <math.h>

#define NORMAL_MAD   1.4826 /* deviation / MAD of normal values */
#define LAPLACE_MAD  1.0277 /* NORMAL_MAD * ln 2: deviation / scale of Laplace's distribution */
#define FACTOR_LEAST 3.0

/* In the form of Wirth, "Algorithms + Data Structures = Programs", 1976. */
double select_value(double *values, size_t count, size_t k)
{
    ptrdiff_t low = 0, high = (ptrdiff_t)count - 1, at = (ptrdiff_t)k;
    while (low < high) {
        double pivot = values[at];
        ptrdiff_t i = low, j = high;
        do {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j])
                j--;
            if (i <= j) {
                double kept = values[i];
                values[i++] = values[j];
                values[j--] = kept;
            }
        } while (i <= j);
        if (j < at)
            low = i;
        if (at < i)
            high = j;
    }
    return values[at];
}

double median_of(double *values, size_t count)
{
    if (count == 0)
        return 0;
    double upper = select_value(values, count, count / 2);
    if (count % 2)
        return upper;
    double lower = values[0]; /* the largest of those below */
    for (size_t i = 1; i < count / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return lower + (upper - lower) / 2;
}

/* The factor b_n of Croux and Rousseeuw. */
static double few_values_factor(size_t count)
{
    static const double tabulated[] = {1,     1,     1.196, 1.495, 1.363,
                                       1.206, 1.200, 1.140, 1.129, 1.107};
    return count < sizeof tabulated / sizeof *tabulated ? tabulated[count]
                                                        : (double)count / ((double)count - 0.8);
}

struct spread spread_of(double *values, size_t count)
{
    struct spread spread = {.count = count, .median = median_of(values, count)};
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - spread.median);
    if (count > 1)
        spread.deviation = NORMAL_MAD * few_values_factor(count) * median_of(values, count);
    return spread;
}

double spread_factor(double judged, double alarms)
{
    double factor = log(judged / (2 * alarms)) / LAPLACE_MAD;
    return factor > FACTOR_LEAST ? factor : FACTOR_LEAST;
}

/* The logarithm of n over k. */
static double ways_log(int n, int k)
{
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

/* By logarithms, since of a thousand tries some factors are too large and others too small. */
double binomial_tail(int tries, int hits, double chance)
{
    double tail = 0;
    if (hits <= 0 || chance >= 1)
        return hits <= tries;
    for (int k = hits; k <= tries && chance > 0; k++)
        tail += exp(ways_log(tries, k) + k * log(chance) + (tries - k) * log1p(-chance));
    return tail;
}
