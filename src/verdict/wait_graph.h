/*
 * wait_graph.h - what the files of the verdict share: the words for a rank and its place
 * (verdict.c), and the wait-for graph (wait_graph.c makes it, root_cause.c tells what follows
 * from it).
 */
#ifndef CCTEST_VERDICT_WAIT_GRAPH_H
#define CCTEST_VERDICT_WAIT_GRAPH_H

#include "verdict/verdict.h"

#define NOBODY (-1)

/* Writes behind what stands in `text`. */
void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "rank 3 (host node1, pid 4711)" */
void put_name(const struct situation *situation, int rank, char *text, size_t size);
/* "phase time, alltoall pairwise, 64K, iteration 12"; "..., start barrier of iteration 12" */
void put_place(const struct situation *situation, int rank, char *text, size_t size);
void put_error(const struct situation *situation, struct verdict *verdict, int rank,
               const char *message);

/* It is in an operation that sends or receives. */
bool in_message(const struct standing *standing);
/* It waits for all others, if for anybody. */
bool is_ahead(const struct standing *standing);

/* Each rank has at most one edge: to the peer of the operation that it waits in. */
struct wait_graph {
    const struct situation *situation; /* NULL: there was no memory for it */
    bool *silent;                      /* by rank */
    int *awaited;                      /* by rank: whom it waits for; NOBODY: no one rank */
    int *waiters;                      /* by rank: how many wait for it, through others or not, */
    int *direct;                       /* and how many of them for itself */
    int *order;                        /* those in no circle, none before who waits for it: */
    int ordered;                       /* so many */
    bool *circles;                     /* by rank: it is in a circle */
    bool *listed;                      /* scratch for lists */
};
void graph_open(struct wait_graph *graph, const struct situation *situation);
void graph_free(struct wait_graph *graph);
bool graph_has_silent(const struct wait_graph *graph);
bool graph_has_busy(const struct wait_graph *graph); /* that others wait for */
/* Names the root of it all, then tells what each rank waits in. */
void graph_tell(struct wait_graph *graph, const struct situation *situation,
                struct verdict *verdict);

#endif
