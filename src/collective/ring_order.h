/*
 * ring_order.h - a short ring: an order of ranks in which neighbours are near each other.
 *
 * The length of a ring is the sum of the distances from each rank to the next and from the last to the
 * first. The shortest is the travelling salesman's tour, so it is searched for: exactly up to
 * EXACT_RANKS_MOST ranks (Held, Karp, "A dynamic programming approach to sequencing problems", 1962);
 * else the nearest rank that is left is next, and then two edges are exchanged for two shorter ones
 * as long as there are some (2-opt: Croes, "A method for solving traveling-salesman problems", 1958).
 * Where distances are those of a tree (cache, node, switch), the nearest one next is the shortest.
 *
 * The search has no clock and no chance in it: equal distances give the same order on all ranks.
 */
#ifndef CCTEST_COLLECTIVE_RING_ORDER_H
#define CCTEST_COLLECTIVE_RING_ORDER_H

#include <stdint.h>

#include "base/status.h"

#define EXACT_RANKS_MOST  12
#define SEARCH_RANKS_MOST 1024 /* of more ranks, only orders that are given are compared */

struct rank_distances {
    /* Of two different ranks, the same in both directions. */
    uint32_t (*between)(const void *argument, int a, int b);
    const void *argument;
};

/* The length of a ring. */
uint64_t ring_length(const struct rank_distances *distances, const int *order, int ranks);

/* Writes the ranks in the order of a short ring, from rank 0. It is never longer than that of their
 * numbers, which is taken where no shorter one is found, nor than `given`, another order (NULL:
 * none). STATUS_ERROR: out of memory. */
enum status ring_order_find(const struct rank_distances *distances, const int *given, int ranks,
                            int *order);

/* The same ring as the place of each rank on it (problem->ring_place). `compare`, of two ranks: the order
 * that is given. Returns an array, the caller's to be freed with free(); NULL: out of memory. */
int *ring_places_find(const struct rank_distances *distances, int ranks,
                      int (*compare)(const void *a, const void *b, void *argument), void *argument);

#endif
