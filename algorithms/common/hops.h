/*
 * hops.h - the exchanges of a logarithmic number of steps that need no power of two.
 *
 * All ranks do the same, seen from themselves: in hop k each sends blocks to the rank `reach`
 * places ahead, and gets as many from the rank `reach` places behind. A block is named by its
 * distance, the places between the rank that holds it and the rank whose block it is. Those sent
 * lie at the distances reach, reach + stride, ...; being `reach` places nearer after the hop, they
 * meet those at 0, stride, ... there:
 *
 *      p = 6, reach 1, stride 2:      distance   0  1  2  3  4  5
 *      what rank r sends to r+1                     x     x     x
 *      what it combines, from r-1                x     x     x
 *
 * A list of hops in which every distance from 1 to p-1 is sent exactly once is a reduce_scatter of
 * (p-1)b: every block gets home, combined on the way. Its time reverse, last hop first and from
 * head to tail, is an allgather of (p-1)b. The ways to one rank are a tree: what goes down it is a
 * scatter, and what comes up it a gather.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_HOPS_H
#define CCTEST_ALGORITHMS_COMMON_HOPS_H

#include "schedule/algorithm.h"

struct hop {
    int reach;  /* places */
    int stride; /* between the distances of the blocks that are sent */
    int count;  /* how many blocks */
};

#define HOPS_MOST 32

struct route {
    /* The hops of a reduce_scatter of p ranks, in their order; returns how many. */
    int (*hops)(int p, struct hop hops[HOPS_MOST]);
    int direction; /* 1: ahead is the next rank; -1: the previous one */
    int most;      /* blocks in a message, and so in a round; 0: all of a hop */
    /* The order in which the blocks lie in memory, and so best travel: order[i] is block i of them.
     * NULL: that of their distances. */
    void (*lay)(int p, int order[]);
};

/* The collectives of blocks. Only those of pieces need `most`: scatter and gather send a branch of
 * the tree as one message, and a rank holds what it passes on. */
void route_reduce_scatter(struct builder *b, const struct call *call, const struct route *route);
void route_allgather(struct builder *b, const struct call *call, const struct route *route);
void route_scatter(struct builder *b, const struct call *call, const struct route *route);
void route_gather(struct builder *b, const struct call *call, const struct route *route);

/* Those of a vector, which is cut into a block for each rank: reduce_scatter, or scatter, by
 * `first` and allgather by `second`, which lay the blocks alike; reduce_scatter and gather. */
void route_allreduce(struct builder *b, const struct call *call, const struct route *first,
                     const struct route *second);
void route_broadcast(struct builder *b, const struct call *call, const struct route *first,
                     const struct route *second);
void route_reduce(struct builder *b, const struct call *call, const struct route *route);

/* The hops of the circulant graph: reaches are p/2, p/4, ..., 1, rounded up. */
int circulant_hops(int p, struct hop hops[HOPS_MOST]);

#endif
