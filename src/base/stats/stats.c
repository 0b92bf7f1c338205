/*
 * stats.c - percentiles, deviations, intervals, modes, trends and bins of samples.
 */
#include "base/stats/stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

/*
 * Percentiles and bandwidth from samples, and the rank that begins late.
 */
#define COMPARISONS_A_TICK (1 << 20) /* some ms */

/* Millions of times take a core a second, and longer where ranks share it: this is progress. */
struct sorting {
    const struct tick *tick;
    size_t comparisons;
};

static int compare_times(const void *a, const void *b, void *argument)
{
    struct sorting *sorting = argument;
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    if (++sorting->comparisons % COMPARISONS_A_TICK == 0)
        tick_on(sorting->tick); /* it ends soon, also if the job has ended */
    return COMPARE(left, right);
}

void times_sort(uint64_t *times, size_t count, const struct tick *tick)
{
    struct sorting sorting = {.tick = tick};
    qsort_r(times, count, sizeof *times, compare_times, &sorting);
}

/* Nearest rank: the smallest of the sorted samples that at least `percent` of them do not exceed.
 */
static double percentile(const uint64_t *sorted, size_t count, unsigned percent)
{
    /* ceil(count * percent / 100), in two parts so that it cannot overflow. */
    size_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;
    return (double)sorted[rank - 1] * 1e-3;
}

struct statistics statistics_of(uint64_t *samples, size_t count, const struct tick *tick)
{
    if (count == 0)
        return (struct statistics){.p99 = NAN};
    times_sort(samples, count, tick);
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += (double)samples[i];
    return (struct statistics){
        .min = (double)samples[0] * 1e-3,
        .p50 = percentile(samples, count, 50),
        .mean = total / (double)count * 1e-3,
        .p90 = percentile(samples, count, 90),
        .p99 = count < STATISTICS_P99_LEAST ? NAN : percentile(samples, count, 99),
        .max = (double)samples[count - 1] * 1e-3,
    };
}

double bandwidth_algorithm(size_t bytes, double microseconds)
{
    return microseconds > 0 ? (double)bytes / (microseconds * 1e3) : 0;
}

int statistics_late_rank(const uint64_t *late, int ranks, uint64_t duration)
{
    if (ranks < 2)
        return -1;
    int latest = 0;
    for (int rank = 1; rank < ranks; rank++) {
        if (late[rank] > late[latest])
            latest = rank;
    }
    uint64_t others = 0;
    for (int rank = 0; rank < ranks; rank++) {
        if (rank != latest && late[rank] > others)
            others = late[rank];
    }
    const uint64_t least = 20000;
    uint64_t most = late[latest];
    return most >= least && most >= duration / 10 && most / 2 >= others ? latest : -1;
}

/*
 * Medians, deviations and tails.
 */
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

/*
 * How well the median of the samples is known.
 */
/* P(B(n, 1/2) = floor(n/2)). For even n it is C(n, n/2) / 2^n, the product of (2i - 1) / 2i for i
 * up to n/2; an odd n has the value of n + 1. */
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

/*
 * Do the times of a line gather around two values?
 */
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

/*
 * Do the times of a line rise or fall while it runs?
 */
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

/*
 * Numbers sorted into bins.
 */
void bins_create(struct bins *bins, struct arena *memory, int count)
{
    *bins = (struct bins){.count = count,
                          .start = arena_new(memory, (size_t)count + 1, sizeof *bins->start),
                          .used = arena_new(memory, (size_t)count, sizeof *bins->used)};
}

void bins_count(struct bins *bins, int bin)
{
    bins->start[bin + 1]++;
}

void bins_reserve(struct bins *bins, struct arena *memory)
{
    for (int c = 0; c < bins->count; c++)
        bins->start[c + 1] += bins->start[c];
    bins->values = arena_new(memory, bins->start[bins->count] + 1, sizeof *bins->values);
}

void bins_empty(struct bins *bins)
{
    memset(bins->used, 0, (size_t)bins->count * sizeof *bins->used);
}

void bins_put(struct bins *bins, int bin, double number)
{
    bins->values[bins->start[bin] + bins->used[bin]++] = number;
}

double *bins_of(const struct bins *bins, int bin)
{
    return bins->values + bins->start[bin];
}

size_t bins_size(const struct bins *bins, int bin)
{
    return bins->used[bin];
}
