/*
 * compose.h - kernels, and the collectives of one or two of them.
 *
 * A kernel is the exchange of a collective, on blocks at any address. Its family writes it once;
 * here it becomes the collective of its own name, its form with counts, and a half of others:
 * reduce_scatter then allgather is an allreduce, scatter then allgather a broadcast, reduce_scatter
 * then gather a reduce.
 *
 * Blocks may differ in length, or be empty. The schedule keeps only scratch that operations touch,
 * so a view of scratch for every block costs only the blocks that are used.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_COMPOSE_H
#define CCTEST_ALGORITHMS_COMMON_COMPOSE_H

#include "collective/schedule/algorithm.h"

/* Block r of `partial` becomes, on rank r, the combination of all ranks' block r of `source`.
 * partial->messages[c] is where this rank may put its partial result of block c on its way. It may
 * be the same memory as block c of the source, which is then overwritten. */
typedef void reduce_scatter_kernel(struct builder *b, const struct group *g,
                                   const struct view *source, const struct view *partial);

/* Before: rank r has block r of `all`. Afterwards every rank has all blocks. */
typedef void allgather_kernel(struct builder *b, const struct group *g, const struct view *all);

/* Before: the root has all blocks of `kept`. Afterwards rank r has block r; it may hold others on
 * their way. */
typedef void scatter_kernel(struct builder *b, const struct group *g, int root,
                            const struct view *kept);

/* Before: rank r has block r of `kept`. Afterwards the root has all blocks; other ranks may hold
 * some on their way. */
typedef void gather_kernel(struct builder *b, const struct group *g, int root,
                           const struct view *kept);

/* Scratch for a block of every rank, as long as the blocks of `like`; the block of this rank
 * lies at `own` instead. */
struct view view_apart(struct builder *b, const struct group *g, const struct view *like,
                       struct message own);

/* The collectives of one kernel. */
void compose_reduce_scatter(struct builder *b, const struct call *call,
                            reduce_scatter_kernel *kernel);
void compose_allgather(struct builder *b, const struct call *call, allgather_kernel *kernel);
void compose_scatter(struct builder *b, const struct call *call, scatter_kernel *kernel);
void compose_gather(struct builder *b, const struct call *call, gather_kernel *kernel);

/* For kernels that have options: where a rank keeps the blocks. They also write the root's copy of
 * its own block; the kernel does the rest. */
struct view compose_scatter_begin(struct builder *b, const struct call *call);
struct view compose_gather_begin(struct builder *b, const struct call *call);

/* The collectives of two kernels: the vector is cut into a block for each rank. */
void compose_allreduce(struct builder *b, const struct call *call, reduce_scatter_kernel *first,
                       allgather_kernel *second);
void compose_broadcast(struct builder *b, const struct call *call, scatter_kernel *first,
                       allgather_kernel *second);
void compose_reduce(struct builder *b, const struct call *call, reduce_scatter_kernel *first,
                    gather_kernel *second);

#endif
