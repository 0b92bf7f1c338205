/*
 * neighbor.c - allgather by exchanges with the two neighbours in turn: half as many rounds as a
 * ring, since two blocks travel at a time and both directions of a link are used.
 *
 *   p = 6      round 0          round 1            round 2
 *              0-1  2-3  4-5    1-2  3-4  5-0      0-1  2-3  4-5
 *   rank 0     0 <-> 1          0,1 <-> 4,5        4,5 <-> 2,3
 *
 * First the ranks of each pair (0,1), (2,3), ... swap their blocks; the two blocks are one unit
 * from then on. In each further round a rank changes to its other neighbour, sends the unit that it
 * got last and gets one that it lacks. Even ranks get units from below first, odd ranks from above.
 *
 * p/2 rounds; every rank sends (p-1) blocks; no scratch. p must be even.
 *
 * Used by: Open MPI, UCC (both fall back to the ring for odd p). Source: Chen, Zhang, Zhang, Yuan,
 * "Performance evaluation of allgather algorithms on terascale Linux cluster with fast Ethernet",
 * HPC Asia 2005.
 */
#include "algorithms/algorithms.h"

#include <stdio.h>

#include "algorithms/common/common.h"

static void neighbor_allgather_on(struct builder *b, const struct group *g, const struct view *all)
{
    int p = g->size, r = g->rank, unit = r - r % 2, direction = r % 2 ? -1 : +1;
    /* By side: the partner of even and of odd rounds, and the first block of the last unit from
     * there. */
    const int partner[2] = {(r + p + direction) % p, (r + p - direction) % p};
    int came[2] = {unit, unit};
    if (p == 1)
        return;
    put_step(b, g);
    put_send(b, g, partner[0], view_block(all, r));
    put_recv(b, g, partner[0], view_block(all, partner[0]));
    for (int i = 1; i < p / 2; i++) {
        int side = i % 2, goes = came[1 - side];
        came[side] += side ? -2 * direction : 2 * direction;
        put_step(b, g);
        put_send(b, g, partner[side], view_blocks(b, all, goes, 1, 2));
        put_recv(b, g, partner[side], view_blocks(b, all, came[side], 1, 2));
    }
}

static void neighbor_allgather(struct builder *b, const struct call *call)
{
    compose_allgather(b, call, neighbor_allgather_on);
}

static const char *neighbor_refuses(const struct problem *problem, const struct choice *choice,
                                    char *why, size_t size)
{
    (void)choice;
    if (problem->ranks == 1 || problem->ranks % 2 == 0)
        return NULL;
    snprintf(why, size, "its ranks exchange in pairs, so it needs an even number of ranks, not %d",
             problem->ranks);
    return why;
}

const struct algorithm allgather_neighbor = {
    .name = "neighbor",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "exchanges of two blocks with either neighbour in turn; even numbers of ranks",
    .rounds = "p/2",
    .sent = "(p-1)b",
    .users = "Open MPI, UCC",
    .refuses = neighbor_refuses,
    .write = neighbor_allgather,
};
