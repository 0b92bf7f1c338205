/*
 * modes.c - do the times of a line gather around two values?
 */
#include "base/stats/stats.h"

#include <math.h>
#include <stdbool.h>

#define VALLEY_DEPTH  0.25
#define VALLEY_CHANCE 1e-4

static double log_of(uint64_t sample)
{
    return log((double)(sample > 0 ? sample : 1));
}

/* How many of them are in the lower part. The variance between the parts is greatest where
 * n1 n2 (mean1 - mean2)^2 is. */
static size_t split_of(const uint64_t *sorted, size_t count)
{
    double total = 0, below = 0, most = -1;
    size_t least = (size_t)ceil((double)count * MODES_SHARE), split = 0;
    for (size_t i = 0; i < count; i++)
        total += log_of(sorted[i]);
    for (size_t i = 1; i < count; i++) {
        below += log_of(sorted[i - 1]);
        if (i < least || count - i < least)
            continue;
        double apart = below / (double)i - (total - below) / (double)(count - i);
        double between = (double)i * (double)(count - i) * apart * apart;
        if (between > most) {
            most = between;
            split = i;
        }
    }
    return split;
}

/* Samples in [low, high). */
static size_t samples_within(const uint64_t *sorted, size_t count, double low, double high)
{
    size_t within = 0;
    for (size_t i = 0; i < count; i++)
        within += (double)sorted[i] >= low && (double)sorted[i] < high;
    return within;
}

/* A bound of P(B(n, 1/2) <= k), for k < n/2, by Chernoff: exp(-n KL(k/n, 1/2)); for k = 0 it is
 * exact. */
static double chance_of(size_t k, size_t n)
{
    double low = (double)k / (double)n, high = 1 - low;
    double entropy = -high * log(high) - (low > 0 ? low * log(low) : 0);
    return exp(-(double)n * (log(2) - entropy));
}

/* Is there a valley between two places? */
static bool has_valley(const uint64_t *sorted, size_t count, double left, double right)
{
    double r = pow(right / left, 1.0 / 6); /* half of a range, which is a third of the way */
    size_t first = samples_within(sorted, count, left / r, left * r);
    size_t middle = samples_within(sorted, count, left * r * r, right / r / r);
    size_t last = samples_within(sorted, count, right / r, right * r);
    size_t emptier = first < last ? first : last;
    return (double)middle <= VALLEY_DEPTH * (double)emptier &&
           chance_of(middle, middle + emptier) < VALLEY_CHANCE;
}

struct modes modes_of(const uint64_t *sorted, size_t count)
{
    size_t split = count > 1 ? split_of(sorted, count) : 0;
    if (split == 0)
        return (struct modes){0};
    double left = (double)sorted[(split - 1) / 2];
    double right = (double)sorted[split + (count - split - 1) / 2];
    if (left <= 0 || right < MODES_APART * left || !has_valley(sorted, count, left, right))
        return (struct modes){0};
    double valley = sqrt(left * right);
    double share = (double)samples_within(sorted, count, 0, valley) / (double)count;
    if (share < MODES_SHARE || 1 - share < MODES_SHARE)
        return (struct modes){0};
    return (struct modes){.median = {left * 1e-3, right * 1e-3}, .share = {share, 1 - share}};
}
