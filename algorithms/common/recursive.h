/*
 * recursive.h - exchanges among k^e ranks, level by level: in a level a rank meets the k - 1 others
 * that differ from it in one digit (base k) only.
 *
 *   k = 2, e = 3:  near first          far first           k = 3, e = 2:  near first
 *                  0-1 2-3 4-5 6-7     0-4 1-5 2-6 3-7                    012    345    678
 *                  0-2 1-3 4-6 5-7     0-2 1-3 4-6 5-7                    0.3.6  1.4.7  2.5.8
 *                  0-4 1-5 2-6 3-7     0-1 2-3 4-5 6-7
 *
 * In every level ranks exchange whole vectors, or they cut a window. At first the window is all
 * blocks; each level cuts it into k parts, and a rank keeps the one of its digit. At the end it
 * holds a single block. The way back, from the last level to the first, widens the window. No level
 * receives into memory that it sends from, so one area suffices.
 *
 * Far first, rank v ends with block v. Near first, it ends with the block whose digits are v's
 * in reverse, and a rank always combines runs of ranks: operands stay in order.
 *
 * The kernels need a group of k^e ranks, and views of as many blocks (of any lengths). The
 * collectives around them, for any number of ranks and all radixes, are here, too: doubling.c has
 * the ones of radix 2, knomial.c has the radix as an option.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_RECURSIVE_H
#define CCTEST_ALGORITHMS_COMMON_RECURSIVE_H

#include "collective/schedule/algorithm.h"

/* The order of the levels that cut the window; gathering takes them in reverse. */
enum recursive_order { NEAR_FIRST, FAR_FIRST };

/* A rank's block is the one that it ends with. That block of `partial` becomes the combination of
 * all ranks' same block of `source`. Partial results lie in `partial` on their way; it may be the
 * same memory as the source, which is then overwritten. */
void recursive_halving(struct builder *b, const struct group *g, int radix,
                       enum recursive_order order, const struct view *source,
                       const struct view *partial);

/* Before: each rank has its block of `kept`. Afterwards the root has all; others may hold some. */
void recursive_gather(struct builder *b, const struct group *g, int radix,
                      enum recursive_order order, int root, const struct view *kept);

/* Before: the root has all blocks of `kept`. Afterwards each rank has its block, and may hold
 * others. */
void recursive_scatter(struct builder *b, const struct group *g, int radix,
                       enum recursive_order order, int root, const struct view *kept);

/* One level with whole vectors: `to` becomes the combination of `own` of the `radix` ranks that
 * differ in the digit of weight `weight`, in the order of digits. All of them get the same bits.
 * `to` must not be the memory of `own`. */
void recursive_exchange(struct builder *b, const struct group *g, int weight, int radix,
                        struct message own, struct message to);

/* The collectives for any number of ranks: they fold first, by the same radix. */

/* Whole vectors in every level. Also a barrier. */
void recursive_allreduce(struct builder *b, const struct call *call, int radix);
/* The same on all blocks; a rank keeps its own. */
void recursive_allreduce_scatter(struct builder *b, const struct call *call, int radix);
/* Windows, and back: the vector is cut into a block for each active rank. */
void halving_allreduce(struct builder *b, const struct call *call, int radix,
                       enum recursive_order order);
void halving_reduce(struct builder *b, const struct call *call, int radix,
                    enum recursive_order order);
void halving_broadcast(struct builder *b, const struct call *call, int radix,
                       enum recursive_order order);
/* Windows of the ranks' blocks. Near first, a last step moves the blocks to their ranks. */
void halving_reduce_scatter(struct builder *b, const struct call *call, int radix,
                            enum recursive_order order);
void doubling_allgather(struct builder *b, const struct group *g, int radix,
                        const struct view *all);

#endif
