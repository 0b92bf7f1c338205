/*
 * wait_graph.h - which rank waits for which, and how many wait for each.
 *
 * Each rank has at most one edge: to the peer that it lost or awaited in vain, if it has failed so;
 * else to the peer of the operation that it is in.
 */
#ifndef CCTEST_CONTROLPLANE_VERDICT_WAIT_GRAPH_H
#define CCTEST_CONTROLPLANE_VERDICT_WAIT_GRAPH_H

#include "controlplane/verdict/situation.h"

struct wait_graph {
    const struct situation *situation; /* NULL: out of memory */
    /* By rank: */
    bool *silent;
    const struct cause **cause; /* NULL: it has not failed */
    int *awaited;               /* the rank that it waits for; NO_RANK: none, or not one alone */
    int *waiters;               /* how many wait for it, directly or through others, */
    int *direct;                /* how many directly, */
    int *accused;               /* and how many have failed because it was lost or late */
    bool *cyclic;               /* it is in a circle */
    bool *listed;               /* scratch for lists */
    int *order;                 /* ranks in no circle, each before the one that it waits for: */
    int ordered;                /* so many */
};

/* Frees with graph_free(). Sets situation to NULL if memory ran out. */
void graph_open(struct wait_graph *graph, const struct situation *situation);
void graph_free(struct wait_graph *graph);

/* The rank is in an operation that sends or receives. */
bool standing_in_message(const struct standing *standing);

/* The rank waits for all others, if for any. */
bool standing_is_ahead(const struct standing *standing);

#endif
