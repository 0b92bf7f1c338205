/*
 * check.h - is the result right, and if not, whose fault is it?
 *
 * check_result() compares every element with the contract. When some are wrong, it tries to explain
 * them from the data alone: it tells simple stories (the contribution of rank 2 is missing; those
 * of ranks 2..4 are; rank 5's is stale; the block came from rank 3 instead of 1; never written;
 * bits of one element flipped) and keeps those that account for every wrong element that it looked
 * at. One story: it is told. Several: the finding is ambiguous, and they are named. None: it says
 * so.
 */
#ifndef CCTEST_CHECK_CHECK_H
#define CCTEST_CHECK_CHECK_H

#include "check/pattern.h"

/* Bytes of the longest value as text: a pair of a double and its index. */
#define VALUE_TEXT_MOST 56

struct finding {
    size_t wrong; /* elements */
    size_t first; /* destination element of the first wrong one */
    char expected[VALUE_TEXT_MOST], got[VALUE_TEXT_MOST]; /* its values, readable */
    bool ambiguous;
    char explanation[512]; /* what happened and whom to suspect: one sentence */
};

/* Compares `rank`'s destination. `finding->wrong` is 0 when all is right. Works in bounded
 * memory. */
void check_result(const struct pattern *pattern, int rank, const void *destination,
                  struct finding *finding);

/* Source elements [first, first + count) must still be the input. Returns how many changed. */
size_t check_source(const struct pattern *pattern, int rank, const void *source, size_t first,
                    size_t count);

#endif
