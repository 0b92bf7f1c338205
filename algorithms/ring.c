/*
 * ring.c - the ring: everything moves from r to r+1, one block a step.
 *
 *      0 ---> 1         Each rank talks to two neighbours only; every link carries one block in
 *      ^      |         every step. Bandwidth-optimal for reduce_scatter, allgather and allreduce,
 *      |      v         at the price of p-1 steps (2(p-1) for allreduce).
 *      3 <--- 2
 *
 *   reduce_scatter, step k:  -> r+1 partial of block r-1-k     <- r-1 that of r-2-k, add mine
 *   allgather,      step k:  -> r+1 block r-k                  <- r-1 block r-1-k
 *   allreduce:               the one, then the other, on the vector cut into p blocks
 *
 *   collective      steps    sent          scratch
 *   reduce_scatter  p-1      (p-1)b        2b   (block c is combined in the order c+1, c+2, ..., c)
 *   allgather       p-1      (p-1)b        0
 *   allreduce       2(p-1)   2(p-1)b       0
 *   alltoall        p-1      p(p-1)/2 b    2(p-2)b: store and forward, for links to neighbours only
 *
 * A partial is never received where another still waits to be sent: reduce_scatter and alltoall
 * alternate between two areas, since with one all ranks would wait for each other in a circle when
 * nothing is buffered.
 *
 * Used by: NCCL, Open MPI, MPICH, UCC, HCCL. Source: Patarasuk and Yuan, "Bandwidth optimal all-
 * reduce algorithms for clusters of workstations", JPDC 2009.
 */
#include "algorithms.h"

#include "compose.h"

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

void ring_allgather_on(struct builder *b, const struct group *g, const struct view *all)
{
    int p = g->size, r = g->rank, next = (r + 1) % p, previous = (r + p - 1) % p;
    for (int k = 0; k < p - 1; k++) {
        put_step(b, g);
        put_send(b, g, next, view_block(all, r - k));
        put_recv(b, g, previous, view_block(all, r - 1 - k));
    }
}

static void ring_allgather(struct builder *b, const struct call *call)
{
    compose_allgather(b, call, ring_allgather_on);
}

static void ring_reduce_scatter(struct builder *b, const struct call *call)
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

/* Step k carries the blocks that started k ranks back and have more than k hops to go, the one for
 * the next rank first. Those that go on stand side by side in an area, as one span. */
static void ring_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank, next = (r + 1) % p, previous = (r + p - 1) % p;
    struct view source = view_source_apart(b, call);
    size_t block = message_length(view_block(&source, r)), passing = p > 2 ? (size_t)p - 2 : 0;
    struct view areas[2] = {view_scratch_block(b, passing * block),
                            view_scratch_block(b, passing * block)};

    put_copy(b, g, view_block(&call->destination, r), view_block(&source, r));
    struct message going = view_blocks(b, &source, r + 1, 1, p - 1);
    for (int k = 0; k < p - 1; k++) {
        struct message passes =
            message_part(b, view_all(b, &areas[k % 2]), 0, ((size_t)p - 2 - (size_t)k) * block);
        struct message coming[2] = {view_block(&call->destination, r + p - 1 - k), passes};
        put_step(b, g);
        put_send(b, g, next, going);
        put_recv(b, g, previous, message_join(b, coming, 2));
        going = passes;
    }
}

const struct algorithm allgather_ring = {
    .name = "ring",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "blocks go round the ring",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "NCCL, Open MPI, MPICH, UCC, HCCL",
    .write = ring_allgather,
};

const struct algorithm reduce_scatter_ring = {
    .name = "ring",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "partial sums go round the ring",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "NCCL, Open MPI, UCC, HCCL",
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
    .write = ring_allreduce,
};

const struct algorithm alltoall_ring = {
    .name = "ring",
    .collectives = SERVES(ALLTOALL),
    .summary = "blocks are stored and forwarded along the ring",
    .rounds = "p-1",
    .sent = "p(p-1)/2 b",
    .users = "links to neighbours only",
    .write = ring_alltoall,
};
