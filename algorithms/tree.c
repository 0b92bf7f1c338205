/*
 * tree.c - broadcast along trees: linear (a star), chain, binomial; reduce up the binomial one.
 *
 *   linear   0 -> 1, 2, ..., p-1        1 step; the root sends (p-1) n
 *   chain    0 -> 1 -> 2 -> ... -> p-1  p-1 steps; every rank sends n; a piece goes on as soon as
 *                                       it has come, so a long one costs little more than a hop
 *   binomial, far first                 ceil(log2 p) steps; the root sends n in each
 *            0 -> 4 | 0 -> 2, 4 -> 6 | 0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7
 *
 *   binomial reduce, near first         ceil(log2 p) steps; all but the root send n, once; a piece
 *            goes on as soon as it is combined
 *            1 -> 0, 3 -> 2, 5 -> 4, 7 -> 6 | 2 -> 0, 6 -> 4 | 4 -> 0
 *
 * Ranks count from the root: v = (r - root) mod p. Broadcast needs no scratch, reduce n on every
 * rank between a leaf and the root. It combines in the order of v: that of the ranks for root 0.
 *
 * Used by: linear HCCL (Star), Open MPI; chain HCCL (Ring), Open MPI (pipeline), NCCL; binomial
 * MPICH, Open MPI, HCCL.
 */
#include "algorithms.h"

/* The root's own copy. What it sends comes from the source, so nothing waits for this. */
static void root_copies(struct builder *b, const struct call *call)
{
    if (call->group->rank == call->root)
        put_copy(b, call->group, view_all(b, &call->destination), view_all(b, &call->source));
}

/* What this rank hands on: the root its source, the others what they received. */
static struct message handed_on(struct builder *b, const struct call *call)
{
    return view_all(b, call->group->rank == call->root ? &call->source : &call->destination);
}

static void linear_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    put_step(b, g);
    root_copies(b, call);
    if (g->rank != call->root) {
        put_recv(b, g, call->root, view_all(b, &call->destination));
        return;
    }
    for (int k = 1; k < g->size; k++)
        put_send(b, g, (call->root + k) % g->size, handed_on(b, call));
}

static void chain_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, v = (g->rank - call->root + p) % p;
    root_copies(b, call);
    for (int k = 0; k < p - 1; k++) {
        put_step(b, g);
        if (v == k + 1)
            put_recv(b, g, (g->rank + p - 1) % p, view_all(b, &call->destination));
        if (v == k)
            put_send(b, g, (g->rank + 1) % p, handed_on(b, call));
    }
}

static void binomial_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, v = (g->rank - call->root + p) % p, reach = 1;
    while (reach < p)
        reach *= 2;
    root_copies(b, call);
    for (int d = reach / 2; d >= 1; d /= 2) {
        put_step(b, g);
        if (v % (2 * d) == d)
            put_recv(b, g, (g->rank - d + p) % p, view_all(b, &call->destination));
        if (v % (2 * d) == 0 && v + d < p)
            put_send(b, g, (g->rank + d) % p, handed_on(b, call));
    }
}

/* The child at distance d brings the combination of v+d .. v+2d-1; `so_far` is that of v .. v+d-1.
 * A leaf hands on its source. */
static void binomial_reduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, v = (g->rank - call->root + p) % p;
    struct view so_far = call->source, partial = call->destination;
    if (v > 0 && v % 2 == 0 && v + 1 < p)
        partial = view_scratch(b, &call->source);
    if (p == 1)
        put_copy(b, g, view_all(b, &partial), view_all(b, &so_far));
    for (int d = 1; d < p; d *= 2) {
        put_step(b, g);
        if (v % (2 * d) == 0 && v + d < p) {
            put_recv_reduce(b, g, (g->rank + d) % p, view_all(b, &partial), view_all(b, &so_far));
            so_far = partial;
        }
        if (v % (2 * d) == d)
            put_send(b, g, (g->rank - d + p) % p, view_all(b, &so_far));
    }
}

const struct algorithm broadcast_linear = {
    .name = "linear",
    .aliases = {"star", "flat"},
    .collectives = SERVES(BROADCAST),
    .summary = "the root sends to everybody",
    .rounds = "1",
    .sent = "(p-1)n",
    .users = "HCCL (Star), Open MPI",
    .write = linear_broadcast,
};

const struct algorithm broadcast_chain = {
    .name = "chain",
    .aliases = {"ring", "pipeline"},
    .collectives = SERVES(BROADCAST),
    .summary = "from neighbour to neighbour, streamed",
    .rounds = "p-1",
    .sent = "n",
    .users = "HCCL (Ring), Open MPI, NCCL",
    .write = chain_broadcast,
};

const struct algorithm broadcast_binomial = {
    .name = "binomial",
    .aliases = {"nhr-oneshot", "tree"},
    .collectives = SERVES(BROADCAST),
    .summary = "the number of ranks that have it doubles in each step",
    .rounds = "ceil(log2 p)",
    .sent = "n ceil(log2 p)",
    .users = "MPICH, Open MPI, HCCL",
    .write = binomial_broadcast,
};

const struct algorithm reduce_binomial = {
    .name = "binomial",
    .aliases = {"nhr-oneshot", "tree"},
    .collectives = SERVES(REDUCE),
    .summary = "up the tree, streamed: the number of partial results halves in each step",
    .rounds = "ceil(log2 p)",
    .sent = "n",
    .users = "MPICH, Open MPI, HCCL",
    .write = binomial_reduce,
};
