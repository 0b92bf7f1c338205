/*
 * compose.h - kernels, and the collectives that are made of two of them.
 *
 * A kernel is the exchange of a collective, on blocks that may lie anywhere. It is written once by
 * its family; here it becomes the collective of its own name, its form with counts, and a half of
 * others: reduce_scatter then allgather is an allreduce, scatter then allgather a broadcast,
 * reduce_scatter then gather a reduce.
 *
 * Blocks differ in length, and may be empty. Scratch that no operation touches takes no room, so a
 * view of scratch for every block costs nothing but the blocks that are used.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_COMPOSE_H
#define CCTEST_ALGORITHMS_COMMON_COMPOSE_H

#include "schedule/algorithm.h"

/* Block r of `partial` becomes, on rank r, the combination of all ranks' block r of `source`.
 * partial->messages[c] is where this rank may put its partial result of block c while it passes; it
 * may be the same memory as block c of the source, which is then given up. */
typedef void reduce_scatter_kernel(struct builder *b, const struct group *g,
                                   const struct view *source, const struct view *partial);

/* Block r of `all` is there on rank r. Then all blocks are there on all ranks. */
typedef void allgather_kernel(struct builder *b, const struct group *g, const struct view *all);

/* The root has all blocks of `kept`. Then rank r has block r; others it may hold on the way. */
typedef void scatter_kernel(struct builder *b, const struct group *g, int root,
                            const struct view *kept);

/* Block r of `kept` is there on rank r. Then the root has all; others may hold some on the way. */
typedef void gather_kernel(struct builder *b, const struct group *g, int root,
                           const struct view *kept);

/* Scratch for a block of every rank, as long as those of `like`, but for the own one, which lies at
 * `own`. */
struct view view_apart(struct builder *b, const struct group *g, const struct view *like,
                       struct message own);

/* The collectives of one kernel. */
void compose_reduce_scatter(struct builder *b, const struct call *call,
                            reduce_scatter_kernel *kernel);
void compose_allgather(struct builder *b, const struct call *call, allgather_kernel *kernel);
void compose_scatter(struct builder *b, const struct call *call, scatter_kernel *kernel);
void compose_gather(struct builder *b, const struct call *call, gather_kernel *kernel);

/* For kernels that have options: what a rank keeps of the blocks, with the root's own copy written.
 * The kernel on it is the whole rest of the collective. */
struct view compose_scatter_begin(struct builder *b, const struct call *call);
struct view compose_gather_begin(struct builder *b, const struct call *call);

/* Those of two: the vector is cut into a block for each rank. */
void compose_allreduce(struct builder *b, const struct call *call, reduce_scatter_kernel *first,
                       allgather_kernel *second);
void compose_broadcast(struct builder *b, const struct call *call, scatter_kernel *first,
                       allgather_kernel *second);
void compose_reduce(struct builder *b, const struct call *call, reduce_scatter_kernel *first,
                    gather_kernel *second);

#endif
