/*
 * pairwise.c - alltoall in rounds of one partner each.
 *
 *   round k = 1 .. p-1      rank r:  -> r+k   its block for r+k
 *                                    <- r-k   that rank's block for r
 *
 *   p = 4        round 1         round 2         round 3
 *              0 -> 1 -> 2     0 <-> 2         0 -> 3 -> 2
 *              ^         |     1 <-> 3         ^         |
 *              +--- 3 <--+                     +--- 1 <--+
 *
 * Each port carries one flow in and one flow out at a time: limiting contention is the point, so a
 * fence stands between the rounds. p-1 rounds; every rank sends (p-1) blocks; no scratch.
 *
 * pairwise-xor meets r xor k instead, so both directions of a round go between the same two ranks;
 * it needs a power of two.
 *
 * Used by: HCCL (PairWise), Open MPI, UCC, MPICH (xor where p is a power of two).
 */
#include "algorithms.h"

#include <stdio.h>

/* Round k: our block for `to` goes there, and `from`'s block for us comes. */
static void round_write(struct builder *b, const struct call *call, const struct view *source,
                        int to, int from)
{
    const struct group *g = call->group;
    put_step(b, g);
    put_send(b, g, to, view_block(source, to));
    put_recv(b, g, from, view_block(&call->destination, from));
    put_fence(b, g);
}

void pairwise_alltoall(struct builder *b, const struct call *call)
{
    int p = call->group->size, r = call->group->rank;
    struct view source = view_source_apart(b, call);
    put_copy(b, call->group, view_block(&call->destination, r), view_block(&source, r));
    for (int k = 1; k < p; k++)
        round_write(b, call, &source, (r + k) % p, (r - k + p) % p);
}

static void xor_alltoall(struct builder *b, const struct call *call)
{
    int p = call->group->size, r = call->group->rank;
    struct view source = view_source_apart(b, call);
    put_copy(b, call->group, view_block(&call->destination, r), view_block(&source, r));
    for (int k = 1; k < p; k++)
        round_write(b, call, &source, r ^ k, r ^ k);
}

static const char *xor_refuses(const struct problem *problem, const struct choice *choice,
                               char *why, size_t size)
{
    int ranks = problem->ranks;
    (void)choice;
    if ((ranks & (ranks - 1)) == 0)
        return NULL;
    snprintf(why, size, "it pairs rank r with r xor k, so it needs a power of two, not %d ranks",
             ranks);
    return why;
}

const struct algorithm alltoall_pairwise = {
    .name = "pairwise",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "p-1 rounds with one partner each: send to r+k, receive from r-k",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "HCCL, Open MPI, UCC, MPICH",
    .write = pairwise_alltoall,
};

const struct algorithm alltoall_pairwise_xor = {
    .name = "pairwise-xor",
    .aliases = {"xor"},
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "p-1 rounds, in each an exchange with r xor k; powers of two",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "MPICH",
    .refuses = xor_refuses,
    .write = xor_alltoall,
};
