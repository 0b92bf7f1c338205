/*
 * hops.h - exchanges in a logarithmic number of steps for any number of ranks.
 *
 * All ranks do the same: in hop k each sends blocks `reach` ranks ahead, and receives as many from
 * `reach` ranks behind. A block is named by its distance: the number of ranks from its holder to
 * the rank whose block it is. The hop sends the blocks at distances reach, reach + stride, ... They
 * are `reach` ranks nearer after the hop, and meet the receiver's blocks at 0, stride, ...:
 *
 *      p = 6, reach 1, stride 2:      distance   0  1  2  3  4  5
 *      what rank r sends to r+1                     x     x     x
 *      what it combines, from r-1                x     x     x
 *
 * A list of hops that sends every distance from 1 to p-1 exactly once is a reduce_scatter of
 * (p-1)b: every block gets home, combined on the way. Reversed in time it is an allgather of
 * (p-1)b. The ways to one rank form a tree: down it a scatter, up it a gather.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_HOPS_H
#define CCTEST_ALGORITHMS_COMMON_HOPS_H

#include "collective/schedule/algorithm.h"

struct hop {
    int reach;  /* ranks */
    int stride; /* between the distances of the blocks sent */
    int count;  /* blocks sent */
};

#define HOPS_MOST 32

struct route {
    /* The hops of a reduce_scatter of p ranks, in order; returns how many. */
    int (*hops)(int p, struct hop hops[HOPS_MOST]);
    int direction; /* 1: ahead is the next rank; -1: the previous one */
    int most;      /* blocks in a message, and so in a round; 0: all blocks of a hop */
    /* The order of the blocks in memory, and so in messages: the block at index i is order[i].
     * NULL: by distance. */
    void (*lay)(int p, int order[]);
};

/* The collectives of blocks. Scatter and gather do not read `most`: they send a branch of the tree
 * as one message. */
void route_reduce_scatter(struct builder *b, const struct call *call, const struct route *route);
void route_allgather(struct builder *b, const struct call *call, const struct route *route);
void route_scatter(struct builder *b, const struct call *call, const struct route *route);
void route_gather(struct builder *b, const struct call *call, const struct route *route);

/* The collectives of a vector, which is cut into a block for each rank: reduce_scatter or scatter
 * by `first`, then allgather by `second`, with the same order of blocks; for reduce, reduce_scatter
 * then gather. */
void route_allreduce(struct builder *b, const struct call *call, const struct route *first,
                     const struct route *second);
void route_broadcast(struct builder *b, const struct call *call, const struct route *first,
                     const struct route *second);
void route_reduce(struct builder *b, const struct call *call, const struct route *route);

/* The hops of the circulant graph: reaches are p/2, p/4, ..., 1, rounded up. */
int circulant_hops(int p, struct hop hops[HOPS_MOST]);

#endif
