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
 * Each port carries one flow in and one flow out at a time. This limits contention, so fences
 * separate the rounds. Every rank sends (p-1) blocks; no scratch.
 *
 *   name             round k of rank r                           rounds
 *   pairwise         to r+k, from r-k                            p-1
 *   pairwise-xor     exchange with r xor k: powers of two        p-1
 *   pairwise-factor  exchange with the partner of a matching     p-1; odd p: p, each rank is idle
 *                    of all ranks                                in one of them
 *
 *   factor, p = 6, rank 0 meets 5 1 2 3 4: an odd number M of ranks form a circle, k-r mod M is
 *   opposite to r, and the rank that is opposite to itself meets rank M.
 *
 * reduce_scatter pairwise: in round k rank r sends block r+k to rank r+k, from the source, and
 * combines the block from r-k: in the order r, r-1, r-2, ...
 *
 * Used by: HCCL (PairWise), Open MPI, UCC, MPICH (xor where p is a power of two; reduce_scatter of
 * long vectors). Source of the factor: Sanders and Traff, "The hierarchical factor algorithm for
 * all-to-all communication", Euro-Par 2002.
 */
#include "algorithms/algorithms.h"

#include <stdio.h>

/* One round: sends the block for `to`, receives that of `from`. */
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

/* The partner of rank r in round k; r itself: it is idle. */
static int factor_partner(int p, int r, int k)
{
    int circle = p % 2 ? p : p - 1;
    int opposite = (k + circle - r % circle) % circle;
    if (p % 2)
        return opposite;
    if (r == circle)
        return k * (p / 2) % circle; /* the rank that is opposite to itself */
    return opposite == r ? circle : opposite;
}

static void factor_alltoall(struct builder *b, const struct call *call)
{
    int p = call->group->size, r = call->group->rank, rounds = p % 2 ? p : p - 1;
    struct view source = view_source_apart(b, call);
    put_copy(b, call->group, view_block(&call->destination, r), view_block(&source, r));
    for (int k = 0; p > 1 && k < rounds; k++) {
        int partner = factor_partner(p, r, k);
        if (partner != r)
            round_write(b, call, &source, partner, partner);
        else
            put_step(b, call->group);
    }
}

static void pairwise_reduce_scatter(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    struct message to = view_all(b, &call->destination), so_far = view_block(&call->source, r);
    if (p == 1)
        put_copy(b, g, to, so_far);
    for (int k = 1; k < p; k++) {
        put_step(b, g);
        put_send(b, g, (r + k) % p, view_block(&call->source, r + k));
        put_recv_reduce(b, g, (r - k + p) % p, to, so_far);
        put_fence(b, g);
        so_far = to;
    }
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
    .alike = true,
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
    .alike = true,
    .write = xor_alltoall,
};

const struct algorithm alltoall_pairwise_factor = {
    .name = "pairwise-factor",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "rounds of exchanges, each a perfect matching of all ranks",
    .rounds = "p-1, odd p: p",
    .sent = "(p-1)b",
    .users = "Sanders and Traff",
    .write = factor_alltoall,
};

const struct algorithm reduce_scatter_pairwise = {
    .name = "pairwise",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "p-1 rounds with one partner each, combined on arrival",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "MPICH",
    .alike = true,
    .write = pairwise_reduce_scatter,
};
