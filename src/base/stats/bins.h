/*
 * bins.h - numbers sorted into bins, which lie one behind the other in one array.
 */
#ifndef CCTEST_BASE_STATS_BINS_H
#define CCTEST_BASE_STATS_BINS_H

#include <stdbool.h>
#include <stddef.h>

struct bins {
    int count;
    size_t *start; /* [count + 1]: where each bin begins in `of` */
    size_t *used;  /* [count] */
    double *of;
};

/* Two passes fill bins: bins_count() of each number's bin, bins_reserve(), bins_put() of each
 * number. False: out of memory. */
bool bins_create(struct bins *bins, int count);
void bins_count(struct bins *bins, int bin);
bool bins_reserve(struct bins *bins);
void bins_put(struct bins *bins, int bin, double number);
void bins_free(struct bins *bins);

/* The numbers of a bin; how many. */
double *bins_of(const struct bins *bins, int bin);
size_t bins_size(const struct bins *bins, int bin);

#endif
