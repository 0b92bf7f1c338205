/*
 * recursive.h - exchanges among k^e ranks, level by level: each meets, in a level, the k - 1 others
 * whose place differs from its own in one digit (base k) only.
 *
 *   k = 2, e = 3:  near first          far first           k = 3, e = 2:  near first
 *                  0-1 2-3 4-5 6-7     0-4 1-5 2-6 3-7                    012    345    678
 *                  0-2 1-3 4-6 5-7     0-2 1-3 4-6 5-7                    0.3.6  1.4.7  2.5.8
 *                  0-4 1-5 2-6 3-7     0-1 2-3 4-5 6-7
 *
 * Either whole vectors are exchanged in every level, or the levels cut a window: at first it is all
 * blocks; in each level it falls into k parts, of which a rank keeps the one of its digit. At the
 * end it holds a single block. The way back, from the last level to the first, widens the window.
 * Nothing is ever received where something is sent from in the same level, so no second area is
 * needed.
 *
 * Far first, rank v ends with block v. Near first, it ends with the block whose digits are those of
 * v in reverse, and all that is combined is that of runs of ranks: operands stay in order.
 *
 * The kernels want a group of k^e ranks, and views of as many blocks (of any lengths). What
 * surrounds them, the collectives for any number of ranks, is here too, once for all radixes:
 * doubling.c names those of radix 2, knomial.c those where the radix is an option.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_RECURSIVE_H
#define CCTEST_ALGORITHMS_COMMON_RECURSIVE_H

#include "schedule/algorithm.h"

/* Of the levels that cut the window; gathering takes them in reverse. */
enum recursive_order { NEAR_FIRST, FAR_FIRST };

/* The block that place v ends with; also the place that ends with block v. */
int recursive_block(int radix, int places, enum recursive_order order, int v);

/* Own block of `partial` becomes the combination of all ranks' block of `source`. `partial` says
 * where partial results lie while they pass; it may be the same memory as the source, which is then
 * given up. */
void recursive_halving(struct builder *b, const struct group *g, int radix,
                       enum recursive_order order, const struct view *source,
                       const struct view *partial);

/* The own block of `all` is there. Then all are there. */
void recursive_doubling(struct builder *b, const struct group *g, int radix,
                        enum recursive_order order, const struct view *all);

/* The own block of `kept` is there. Then all are there on the root; others may hold some. */
void recursive_gather(struct builder *b, const struct group *g, int radix,
                      enum recursive_order order, int root, const struct view *kept);

/* The root has all blocks of `kept`. Then the own one is there; others may hold some. */
void recursive_scatter(struct builder *b, const struct group *g, int radix,
                       enum recursive_order order, int root, const struct view *kept);

/* One level with whole vectors: `to` becomes the combination, in the order of digits, of what the
 * `radix` ranks have in `own` whose places differ in the digit of weight `weight`. All of them get
 * the same bits. `to` must not be the memory of `own`. */
void recursive_exchange(struct builder *b, const struct group *g, int weight, int radix,
                        struct message own, struct message to);

/* The collectives, for any number of ranks: they fold first, by the same radix. */

/* Whole vectors in every level. Also a barrier. */
void recursive_allreduce(struct builder *b, const struct call *call, int radix);
/* The same on all blocks, of which the own one is kept. */
void recursive_allreduce_scatter(struct builder *b, const struct call *call, int radix);
/* Windows and back: the vector is cut into a block for each active rank. */
void halving_allreduce(struct builder *b, const struct call *call, int radix,
                       enum recursive_order order);
void halving_reduce(struct builder *b, const struct call *call, int radix,
                    enum recursive_order order);
void halving_broadcast(struct builder *b, const struct call *call, int radix,
                       enum recursive_order order);
/* Windows of the ranks' own blocks. Near first, a last step puts the blocks right. */
void halving_reduce_scatter(struct builder *b, const struct call *call, int radix,
                            enum recursive_order order);
void doubling_allgather(struct builder *b, const struct group *g, int radix,
                        const struct view *all);

#endif
