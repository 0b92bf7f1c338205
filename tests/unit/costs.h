/*
 * costs.h - functions in the formulas of costs.def: powers, logarithms, and costs too long for a
 * row.
 */
#ifndef CCTEST_TEST_COSTS_H
#define CCTEST_TEST_COSTS_H

#include <stdbool.h>

/* ceil(log_k p) */
static inline long log_up(long p, long k)
{
    long q = 0;

    for (long w = 1; w < p; w *= k)
        q++;
    return q;
}

static inline long ceil_log2(long p)
{
    return log_up(p, 2);
}

/* The largest power of k up to p. */
static inline long power_down(long p, long k)
{
    long power = 1;

    while (k > 1 && k * power <= p)
        power *= k;
    return power;
}

static inline long power2_down(long p)
{
    return power_down(p, 2);
}

static inline long least(long a, long b)
{
    return a < b ? a : b;
}

static inline long most(long a, long b)
{
    return a > b ? a : b;
}

static inline long divide_up(long a, long b)
{
    return (a + b - 1) / b;
}

/* Messages of the Bruck pattern: for each weight, the digits that occur. */
static inline long bruck_messages(long p, long k)
{
    long messages = 0;

    for (long w = 1; w < p; w *= k)
        for (long j = 1; j < k && j * w < p; j++)
            messages++;
    return messages;
}

/* A block travels once for each digit of its distance that is not 0. */
static inline long bruck_blocks(long p, long k)
{
    long blocks = 0;

    for (long i = 0; i < p; i++)
        for (long rest = i; rest > 0; rest /= k)
            blocks += rest % k != 0;
    return blocks;
}

/* The columns of the most square grid that p ranks fill: no fewer than its rows. */
static inline long square_columns(long p)
{
    long columns = 1;

    while (columns * columns < p || p % columns != 0)
        columns++;
    return columns;
}

/* nhr-v1's grid: the first `longer` rows have a rank more than there are columns. */
struct nhr_v1_grid {
    long rows, columns, longer;
};

static inline struct nhr_v1_grid nhr_v1_grid(long p)
{
    long columns = square_columns(p), rows = p / columns, root = 1;

    if (columns - rows < 5)
        return (struct nhr_v1_grid){rows, columns, 0};
    while ((root + 1) * (root + 1) <= p)
        root++;
    rows = root + (p - root * root >= root);
    return (struct nhr_v1_grid){rows, root, p - rows * root};
}

static inline long nhr_v1_rounds(long p)
{
    struct nhr_v1_grid grid = nhr_v1_grid(p);

    return 2 * (grid.columns - (grid.longer == 0)) + 2 * (grid.rows - 1);
}

/* Where rows differ, the busiest rank stands in the last column of a longer one: its allgather
 * sends all parts, since that of its neighbour is empty. */
static inline long nhr_v1_sent(long p, long n)
{
    struct nhr_v1_grid grid = nhr_v1_grid(p);
    long part = n / grid.columns, spared = part;

    if (grid.longer == 0)
        return 2 * (p - 1) * n / p;
    for (long y = 0; y < grid.longer; y++) {
        long rest = part % grid.rows, base = part / grid.rows;
        long own = base + (y < rest), next = base + ((y + 1) % grid.rows < rest);

        spared = own + next < spared ? own + next : spared;
    }
    return 2 * n + part - spared;
}

/* Ranks in the largest subtree below the root of a k-nomial tree: below the highest digit, which
 * may be cut short, or else below the next one. */
static inline long largest_subtree(long p, long k)
{
    long w = 1;

    while (w * k < p)
        w *= k;
    if (p >= 2 * w)
        return w;
    return p - w > w / k ? p - w : w / k;
}

/* For each power of two, the odd multiples of it go in messages of at most c blocks. */
static inline long pat_messages(long p, long c)
{
    long messages = 0;

    for (long w = 1; w < p; w *= 2)
        messages += divide_up(((p - 1) / w + 1) / 2, c);
    return messages;
}

/* Recursive exchanges of radix k: levels of k - 1 meetings each among the largest power of k. The
 * rest folds onto them: k - 1 extras at most on each of the first ranks. */

static inline long levels(long p, long k)
{
    return log_up(power_down(p, k), k);
}

static inline long meetings(long p, long k)
{
    return (k - 1) * levels(p, k);
}

static inline long extras(long p, long k)
{
    long rest = p - power_down(p, k);

    return rest < k - 1 ? rest : k - 1;
}

/* Steps of folding, and of giving back. */
static inline long folds(long p, long k)
{
    return extras(p, k) > 0 ? 2 : 0;
}

/* Ranks in the folded groups before group v. */
static inline long folded_before(long p, long k, long v)
{
    long rest = p - power_down(p, k);

    return v + (v * (k - 1) < rest ? v * (k - 1) : rest);
}

/* Blocks that active rank v sends in an allgather: in each level all those of its window, and at
 * last all but one to each extra. */
static inline long doubling_blocks_of(long p, long k, long v)
{
    long blocks = (folded_before(p, k, v + 1) - folded_before(p, k, v) - 1) * (p - 1);

    for (long w = 1; w < power_down(p, k); w *= k)
        blocks += (k - 1) * (folded_before(p, k, v - v % w + w) - folded_before(p, k, v - v % w));
    return blocks;
}

/* The first one has the largest windows. */
static inline long doubling_blocks(long p, long k)
{
    return doubling_blocks_of(p, k, 0);
}

/* Down the binomial tree, far first, then doubling: messages or blocks that rank r sends. */
static inline long scatter_rd_of(long p, long root, long r, bool messages)
{
    long place = (r - root + p) % p, low = place ? place & -place : 2 * power2_down(p);
    long tree = least(low, p - place), v = 0;

    while (folded_before(p, 2, v + 1) <= r)
        v++;
    bool pair = folded_before(p, 2, v + 1) - folded_before(p, 2, v) > 1;
    bool away = pair && r == folded_before(p, 2, v);
    long sent = messages ? ceil_log2(tree) : tree - 1;

    if (away)
        return sent + 1;
    return sent + (messages ? levels(p, 2) + pair : doubling_blocks_of(p, 2, v));
}

/* The busiest rank with the worst root. */
static inline long scatter_rd(long p, bool messages)
{
    long busiest = 0;

    for (long root = 0; root < p; root++)
        for (long r = 0; r < p; r++)
            busiest = most(busiest, scatter_rd_of(p, root, r, messages));
    return busiest;
}

#endif
