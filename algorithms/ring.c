/*
 * ring.c - the ring: rank r sends to rank r+1 only, one block a step.
 *
 *      0 ---> 1         Each rank talks to two neighbours only; every link carries one block in
 *      ^      |         every step. Bandwidth-optimal for reduce_scatter, allgather and allreduce,
 *      |      v         at the price of p-1 steps (2(p-1) for allreduce).
 *      3 <--- 2
 *
 *   reduce_scatter, step k:  -> r+1 partial of block r-1-k     <- r-1 that of r-2-k, add own
 *   allgather,      step k:  -> r+1 block r-k                  <- r-1 block r-1-k
 *   allreduce:               reduce_scatter, then allgather, on the vector cut into p blocks
 *
 *   scatter,        step t:  v -> v+1 block p-1-t+v if t >= v: the farthest first, so all end at
 *                            once. v numbers ranks, and blocks, from the root
 *   gather:                  scatter, reversed in time
 *
 *   collective      steps    sent          scratch
 *   reduce_scatter  p-1      (p-1)b        2b   (block c is combined in the order c+1, c+2, ..., c)
 *   allgather       p-1      (p-1)b        0
 *   allreduce       2(p-1)   2(p-1)b       0
 *   scatter         p-1      (p-1)b        (p-2)b, for the blocks on their way
 *   gather          p-1      (p-1)b        (p-2)b
 *
 * A receive must not overwrite an unsent partial. So reduce_scatter alternates between two areas:
 * with one, and without buffering, all ranks would wait for each other in a circle.
 *
 * Used by: NCCL, Open MPI, MPICH, UCC, HCCL. Source: Patarasuk and Yuan, "Bandwidth optimal all-
 * reduce algorithms for clusters of workstations", JPDC 2009.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

void ring_reduce_scatter_on(struct builder *b, const struct group *g, const struct view *source,
                            const struct view *partial)
{
    int p = g->size, r = g->rank, next = (r + 1) % p, previous = (r + p - 1) % p;
    for (int k = 0; k < p - 1; k++) {
        put_step(b, g);
        put_send(b, g, next, view_block(k == 0 ? source : partial, r - 1 - k));
        put_recv_reduce(b, g, previous, view_block(partial, r - 2 - k),
                        view_block(source, r - 2 - k));
    }
}

void ring_pass(struct builder *b, const struct group *g, const struct view *all, int steps)
{
    int p = g->size, r = g->rank, next = (r + 1) % p, previous = (r + p - 1) % p;
    for (int k = 0; k < steps; k++) {
        put_step(b, g);
        put_send(b, g, next, view_block(all, r - k));
        put_recv(b, g, previous, view_block(all, r - 1 - k));
    }
}

void ring_allgather_on(struct builder *b, const struct group *g, const struct view *all)
{
    ring_pass(b, g, all, g->size - 1);
}

/* v: the rank relative to the root. */
static void ring_scatter_on(struct builder *b, const struct group *g, int root,
                            const struct view *kept)
{
    int p = g->size, r = g->rank, next = (r + 1) % p, previous = (r + p - 1) % p;
    int v = (r - root + p) % p;
    for (int t = 0; t < p - 1; t++) {
        int goes = root + p - 1 - t + v;
        put_step(b, g);
        if (t >= v)
            put_send(b, g, next, view_block(kept, goes));
        if (v > 0 && t >= v - 1)
            put_recv(b, g, previous, view_block(kept, goes - 1));
    }
}

static void ring_gather_on(struct builder *b, const struct group *g, int root,
                           const struct view *kept)
{
    int p = g->size, r = g->rank, next = (r + 1) % p, previous = (r + p - 1) % p;
    int v = (r - root + p) % p;
    for (int t = p - 2; t >= 0; t--) {
        int comes = root + p - 1 - t + v;
        put_step(b, g);
        if (v > 0 && t >= v - 1)
            put_send(b, g, previous, view_block(kept, comes - 1));
        if (t >= v)
            put_recv(b, g, next, view_block(kept, comes));
    }
}

static void ring_allgather(struct builder *b, const struct call *call)
{
    compose_allgather(b, call, ring_allgather_on);
}

void ring_reduce_scatter(struct builder *b, const struct call *call)
{
    int p = call->group->size, r = call->group->rank;
    struct message *partials = message_array(b, p);
    if (!partials)
        return;
    /* Areas as large as the largest block, since blocks may differ in length. */
    size_t most = 0;
    for (int i = 0; i < p; i++) {
        size_t length = message_length(view_block(&call->source, i));
        most = length > most ? length : most;
    }
    struct view areas[2] = {view_scratch_block(b, most), view_scratch_block(b, most)};
    for (int k = 0; k < p - 1; k++) {
        int block = (2 * p + r - 2 - k) % p;
        partials[block] = message_part(b, view_all(b, &areas[k % 2]), 0,
                                       message_length(view_block(&call->source, block)));
    }
    partials[r] = view_all(b, &call->destination);
    struct view partial = {partials, p};
    if (p == 1)
        put_copy(b, call->group, partials[r], view_block(&call->source, r));
    ring_reduce_scatter_on(b, call->group, &call->source, &partial);
}

static void ring_allreduce(struct builder *b, const struct call *call)
{
    compose_allreduce(b, call, ring_reduce_scatter_on, ring_allgather_on);
}

static void ring_scatter(struct builder *b, const struct call *call)
{
    compose_scatter(b, call, ring_scatter_on);
}

static void ring_gather(struct builder *b, const struct call *call)
{
    compose_gather(b, call, ring_gather_on);
}

const struct algorithm allgather_ring = {
    .name = "ring",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "blocks go round the ring",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "NCCL, Open MPI, MPICH, UCC, HCCL",
    .options = {OPTION_ORDER},
    .alike = true,
    .write = ring_allgather,
};

const struct algorithm reduce_scatter_ring = {
    .name = "ring",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "partial sums go round the ring",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "NCCL, Open MPI, UCC, HCCL",
    .options = {OPTION_ORDER},
    .alike = true,
    .write = ring_reduce_scatter,
};

const struct algorithm allreduce_ring = {
    .name = "ring",
    .aliases = {"segmented-ring"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "ring reduce_scatter, then ring allgather",
    .rounds = "2(p-1)",
    .sent = "2(p-1)b",
    .users = "NCCL, Open MPI, MPICH, UCC, HCCL",
    .options = {OPTION_ORDER},
    .alike = true,
    .write = ring_allreduce,
};

const struct algorithm scatter_ring = {
    .name = "ring",
    .collectives = SERVES(SCATTER) | SERVES(SCATTERV),
    .summary = "blocks go along the ring, the farthest first",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "HCCL",
    .options = {OPTION_ORDER},
    .write = ring_scatter,
};

const struct algorithm gather_ring = {
    .name = "ring",
    .collectives = SERVES(GATHER) | SERVES(GATHERV),
    .summary = "blocks go along the ring to the root, the nearest first",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "HCCL",
    .options = {OPTION_ORDER},
    .write = ring_gather,
};
