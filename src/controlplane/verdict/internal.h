/*
 * internal.h - for the files of controlplane/verdict/ alone.
 */
#ifndef CCTEST_CONTROLPLANE_VERDICT_INTERNAL_H
#define CCTEST_CONTROLPLANE_VERDICT_INTERNAL_H

#include "base/text.h"
#include "controlplane/verdict/verdict.h"

/* ---- Which rank waits for which, and how many wait for each.
 *
 * Each rank has at most one edge: to the peer that it lost or awaited in vain, if it has failed so;
 * else to the peer of the operation that it is in.
 * ---- */

#define SILENT_BEATS 3 /* heartbeats in a row that a living rank does not miss */

struct wait_graph {
    const struct situation *situation;
    /* By rank: */
    bool *silent;
    const struct cause **cause; /* NULL: it has not failed */
    int *awaited;               /* the rank that it waits for; NO_RANK: none, or not one alone */
    int *waiters;               /* how many wait for it, directly or through others, */
    int *direct;                /* how many directly, */
    int *blamed;                /* and how many have failed because it was lost or late */
    bool *cyclic;               /* it is in a circle */
    bool *listed;               /* scratch for lists */
    int *order;                 /* ranks in no circle, each before the one that it waits for: */
    int ordered;                /* so many */
};

/* Frees with graph_free(). */
void graph_open(struct wait_graph *graph, const struct situation *situation);
void graph_free(struct wait_graph *graph);

/* The rank is in an operation that sends or receives. */
bool standing_in_message(const struct standing *standing);

/* The rank waits for all others, if for any. */
bool standing_is_ahead(const struct standing *standing);

/* ---- Which rank or link is the root of the wait-for graph, in words. ---- */

/* Is a rank silent? */
bool graph_has_silent(const struct wait_graph *graph);

/* Does a rank that waits for none keep others waiting? */
bool graph_has_busy(const struct wait_graph *graph);

/* The verdict from the graph alone: its root in the headline, then what each rank waits in. */
void graph_explain(struct wait_graph *graph, const struct situation *situation,
                   struct verdict *verdict);

/* ---- verdict.c ---- */

/* Adds "rank 3 (host node1, pid 4711)". */
void put_name(const struct situation *situation, int rank, struct text *text);

/* Adds "phase time, alltoall pairwise, 64K, iteration 12"; "..., start barrier of iteration 12". */
void put_place(const struct situation *situation, int rank, struct text *text);

/* An empty line below the others: at most VERDICT_LINES_MOST + 1. */
struct text verdict_add_line(struct verdict *verdict);

/* An error of a rank, for the report; one that does not fit is left out. */
void verdict_add_error(const struct situation *situation, struct verdict *verdict, int rank,
                       const char *message);

#endif
