/*
 * node_ranks.h - the ranks that run on this rank's host.
 */
#ifndef CCTEST_RUN_NODE_RANKS_H
#define CCTEST_RUN_NODE_RANKS_H

#include "base/status.h"
#include "verdict/rank_state.h"

struct node_ranks {
    int *ranks; /* world ranks, ascending; this rank is one of them */
    int count;
    int place; /* this rank's index among them */
};

/* `members`: of all `ranks` ranks. Freed with node_ranks_free(). Error: out of memory. */
enum status node_ranks_find(const struct member *members, int ranks, int rank,
                            struct node_ranks *node);
void node_ranks_free(struct node_ranks *node); /* all zero is allowed */

#endif
