/*
 * node_ranks.c - the ranks that run on this rank's host.
 */
#include "run/run.h"

#include <stdlib.h>

#include "base/log.h"

enum status node_ranks_find(const struct member *members, int ranks, int rank,
                            struct node_ranks *node)
{
    *node = (struct node_ranks){.place = members[rank].local_rank};
    node->ranks = malloc((size_t)ranks * sizeof *node->ranks);
    if (!node->ranks)
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    for (int r = 0; r < ranks; r++)
        if (members[r].node == members[rank].node)
            node->ranks[node->count++] = r;
    return STATUS_OK;
}

void node_ranks_free(struct node_ranks *node)
{
    free(node->ranks);
    *node = (struct node_ranks){0};
}

/* Groups follow the host names of the ranks; the launcher may count its nodes in another way. */
void node_ranks_compare(const struct node_ranks *node, const struct membership *membership,
                        const char *host)
{
    if (membership->node_ranks == 0 || node->place > 0 ||
        (membership->node_ranks == node->count && membership->node_rank == 0))
        return;
    say("the launcher counts this rank as number %d of %d on its node, but among the ranks on host "
        "%s it is number 0 of %d: groups and shared memory go by hosts, groups also by --shape",
        membership->node_rank, membership->node_ranks, host, node->count);
}
