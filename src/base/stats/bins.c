/*
 * bins.c - numbers sorted into bins.
 */
#include "base/stats/stats.h"

#include <stdlib.h>

bool bins_create(struct bins *bins, int count)
{
    *bins = (struct bins){.count = count,
                          .start = calloc((size_t)count + 1, sizeof *bins->start),
                          .used = calloc((size_t)count, sizeof *bins->used)};
    return bins->start && bins->used;
}

void bins_count(struct bins *bins, int bin)
{
    bins->start[bin + 1]++;
}

bool bins_reserve(struct bins *bins)
{
    for (int c = 0; c < bins->count; c++)
        bins->start[c + 1] += bins->start[c];
    bins->of = calloc(bins->start[bins->count] + 1, sizeof *bins->of);
    return bins->of;
}

void bins_put(struct bins *bins, int bin, double number)
{
    bins->of[bins->start[bin] + bins->used[bin]++] = number;
}

void bins_free(struct bins *bins)
{
    free(bins->start);
    free(bins->used);
    free(bins->of);
}

double *bins_of(const struct bins *bins, int bin)
{
    return bins->of + bins->start[bin];
}

size_t bins_size(const struct bins *bins, int bin)
{
    return bins->used[bin];
}
