/*
 * node_ranks.h - the ranks that run on this rank's host.
 */
#ifndef CCTEST_RUN_NODE_RANKS_H
#define CCTEST_RUN_NODE_RANKS_H

#include "base/status.h"
#include "controlplane/control/membership.h"
#include "base/rank_state.h"

struct node_ranks {
    int *ranks; /* world ranks, ascending; this rank is one of them */
    int count;
    int place; /* this rank's index among them */
};

/* `members`: of all `ranks` ranks. Freed with node_ranks_free(). Error: out of memory. */
enum status node_ranks_find(const struct member *members, int ranks, int rank,
                            struct node_ranks *node);
/* Says so if the launcher counts the ranks of `host`, this rank's, in another way. */
void node_ranks_compare(const struct node_ranks *node, const struct membership *membership,
                        const char *host);

void node_ranks_free(struct node_ranks *node); /* all zero is allowed */

#endif
