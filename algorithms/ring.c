/*
 * ring.c - the ring, several rings at once, and alltoall along a ring.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"
#include "base/numbers.h"
#include "base/text.h"

#include <stdio.h>

/*
 * The ring: rank r sends to rank r+1 only, one block a step.
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

/* Its first `steps` rounds: blocks r-1 .. r-steps come to rank r. */
static void ring_pass(struct builder *b, const struct group *g, const struct view *all, int steps)
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

/* The whole collective: partial results alternate between two areas. */
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

/*
 * Several rings at once over the same ranks, each on its own lane.
 *
 *      0 ---> 1        0 <--- 1       A stride s that has no divisor in common with p makes a ring
 *      ^      |        |      ^       0, s, 2s, ... over all ranks. Different strides use different
 *      |      v        v      |       links: stride p-1 is the ring backwards.
 *      3 <--- 2        3 ---> 2
 *
 *   name        collective      steps        sent      what each ring carries
 *   ring-bidir  allgather       floor(p/2)   (p-1)b    whole blocks, each the shorter way round
 *   ring-bidir  reduce_scatter  p-1          (p-1)b    half of every block, forwards and backwards
 *   ring-bidir  allreduce       2(p-1)       2(p-1)b   half of the vector, likewise
 *   ring-multi  allreduce       2(p-1)       2(p-1)b   a C-th of the vector, on the C least strides
 *
 * Each is the plain ring (ring.c) on the ranks in another order, and needs the same scratch. It
 * multiplies the bandwidth if a link has two directions, or a rank several links.
 *
 * Used by: HCCL (double ring), NCCL (a ring for each channel, in orders that it finds by search).
 */
#define STRIDES_MOST 64

/* The ranks in the order of one ring. */
struct ring {
    struct group group;
    const int *members; /* its ranks, as group ranks of the original group */
};

/* The first ring keeps the lane of `group`. The caller writes after all rings are made, so that
 * their rounds begin together. False: the builder has failed. */
static bool rings_make(struct builder *b, const struct group *group, const long *strides, int count,
                       struct ring *rings)
{
    int p = group->size;
    for (int c = 0; c < count; c++) {
        struct group lane = c == 0 ? *group : group_on_lane(b, group);
        int *members = index_array(b, p);
        if (!members)
            return false;
        for (int i = 0; i < p; i++)
            members[i] = (int)(i * strides[c] % p);
        rings[c] = (struct ring){group_part(b, &lane, members, p), members};
    }
    return true;
}

/* A share of every block. If there is a block for each rank, they are in the ring's order. */
static struct view ring_share(struct builder *b, const struct view *view, const struct ring *ring,
                              int share, int shares)
{
    struct view part = view_channel(b, view, share, shares);
    return part.blocks > 1 ? view_select(b, &part, ring->members, part.blocks) : part;
}

/* Calls `write` for each of `count` rings, with its share of every block. */
static void rings_write(struct builder *b, const struct call *call, const long *strides, int count,
                        void (*write)(struct builder *b, const struct call *call))
{
    struct ring rings[STRIDES_MOST];
    bool made = rings_make(b, call->group, strides, count, rings);
    for (int c = 0; made && c < count; c++) {
        struct call one = *call;
        one.group = &rings[c].group;
        one.source = ring_share(b, &call->source, &rings[c], c, count);
        one.destination = ring_share(b, &call->destination, &rings[c], c, count);
        write(b, &one);
        group_join(b, call->group, &rings[c].group);
    }
}

/* The vector is already cut. */
static void cut_allreduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    if (g->size == 1)
        put_copy(b, g, view_block(&call->destination, 0), view_block(&call->source, 0));
    ring_reduce_scatter_on(b, g, &call->source, &call->destination);
    ring_allgather_on(b, g, &call->destination);
}

static void rings_allreduce(struct builder *b, const struct call *call, const long *strides,
                            int count)
{
    struct call cut = *call;
    cut.source = view_cut(b, &call->source, call->group->size);
    cut.destination = view_cut(b, &call->destination, call->group->size);
    rings_write(b, &cut, strides, count, cut_allreduce);
}

/* The strides of the two directions. */
#define BOTH_WAYS(p) ((long[]){1, (p)-1})

static void bidir_reduce_scatter(struct builder *b, const struct call *call)
{
    rings_write(b, call, BOTH_WAYS(call->group->size), 2, ring_reduce_scatter);
}

static void bidir_allreduce(struct builder *b, const struct call *call)
{
    rings_allreduce(b, call, BOTH_WAYS(call->group->size), 2);
}

static void bidir_allgather(struct builder *b, const struct call *call)
{
    int p = call->group->size;
    const int steps[2] = {p / 2, (p - 1) / 2};
    struct ring rings[2];
    bool made = rings_make(b, call->group, BOTH_WAYS(p), 2, rings);
    put_copy(b, call->group, view_block(&call->destination, call->group->rank),
             view_all(b, &call->source));
    for (int c = 0; made && c < 2; c++) {
        struct view all = view_select(b, &call->destination, rings[c].members, p);
        ring_pass(b, &rings[c].group, &all, steps[c]);
        group_join(b, call->group, &rings[c].group);
    }
}

/* The smallest strides, up to `most`, that make a ring of p ranks. */
static int strides_find(int p, long *strides, int most)
{
    int count = 0;
    for (int s = 1; s < p && count < most; s++)
        if (common_divisor(p, s) == 1)
            strides[count++] = s;
    return count;
}

static void multi_allreduce(struct builder *b, const struct call *call)
{
    long strides[STRIDES_MOST] = {1};
    strides_find(call->group->size, strides, STRIDES_MOST);
    rings_allreduce(b, call, strides, (int)call_option(call, "channels"));
}

static const char *multi_refuses(const struct problem *problem, const struct choice *choice,
                                 char *why, size_t size)
{
    long strides[STRIDES_MOST], wanted = choice_option(choice, "channels");
    int found = strides_find(problem->ranks, strides, STRIDES_MOST);
    if (problem->ranks == 1 || found >= wanted)
        return NULL;
    snprintf(why, size, "%d ranks make %d ring%s of different strides, not %ld: give channels=%d",
             problem->ranks, found, plural(found), wanted, found);
    return why;
}

const struct algorithm allgather_ring_bidir = {
    .name = "ring-bidir",
    .aliases = {"double-ring"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "each block goes both ways, halfway round the ring",
    .rounds = "floor(p/2)",
    .sent = "(p-1)b",
    .users = "HCCL",
    .options = {OPTION_ORDER},
    .alike = true,
    .write = bidir_allgather,
};

const struct algorithm reduce_scatter_ring_bidir = {
    .name = "ring-bidir",
    .aliases = {"double-ring"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "half of every block goes round the ring each way",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "HCCL",
    .options = {OPTION_ORDER},
    .alike = true,
    .write = bidir_reduce_scatter,
};

const struct algorithm allreduce_ring_bidir = {
    .name = "ring-bidir",
    .aliases = {"double-ring"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "two rings, each with half of the vector, one forwards, one backwards",
    .rounds = "2(p-1)",
    .sent = "2(p-1)b",
    .users = "HCCL",
    .options = {OPTION_ORDER},
    .alike = true,
    .write = bidir_allreduce,
};

const struct algorithm allreduce_ring_multi = {
    .name = "ring-multi",
    .aliases = {"channels"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "C rings of different strides, each with a C-th of the vector",
    .rounds = "2(p-1)",
    .sent = "2(p-1)b",
    .users = "NCCL",
    .options = {{"channels", 1, STRIDES_MOST, 2, "C: rings"}, OPTION_ORDER},
    .refuses = multi_refuses,
    .alike = true,
    .write = multi_allreduce,
};

/*
 * Alltoall between neighbours only: ranks store and forward blocks.
 *
 *   p = 4, one way, rank 0 (s>t: the block of s for t)
 *      ->1 {0>1, 0>2, 0>3}  |  ->1 {3>1, 3>2}  |  ->1 {2>1}
 *
 * The block of s for t travels (t-s) mod p hops. Step k carries the blocks that started k ranks
 * back and have more than k hops, the one for the next rank first: that one ends there, the others
 * go on.
 *
 *   name        steps        sent
 *   ring        p-1          p(p-1)/2 b
 *   ring-bidir  floor(p/2)   floor(p^2/4) b: each block goes the shorter way, floor(p/2) hops at
 *                            most forwards and floor((p-1)/2) backwards
 *
 * The blocks that go on are contiguous in an area, as one span. Two areas alternate, so that no
 * receive overwrites unsent blocks. Together they are as long as the two longest such messages:
 * about 2(p-2)b of scratch, for ring-bidir half of it in each direction.
 *
 * Blocks may have different lengths, since every rank knows all lengths.
 *
 * For links that reach neighbours only: it sends many times the bytes of a direct exchange.
 */
/* Elements that go on after step k: the blocks of rank `from`, k + 1 ranks back, that travel k + 2
 * to `longest` hops in `direction`. */
static size_t passing_length(const struct call *call, int direction, int k, int longest)
{
    int p = call->group->size, from = (call->group->rank + (p - direction) * (k + 1)) % p;
    size_t length = 0;
    for (int hops = k + 2; hops <= longest; hops++)
        length += call_length(call, from, (from + (p + direction) * hops) % p);
    return length;
}

/* Moves all blocks that travel up to `longest` hops in `direction`: +1 to the next rank, -1 to
 * the previous one. */
static void pass_around(struct builder *b, const struct call *call, const struct group *g,
                        const struct view *source, int direction, int longest)
{
    int p = g->size, r = g->rank, next = (r + p + direction) % p,
        previous = (r + p - direction) % p;
    size_t room[2] = {0, 0};
    for (int k = 0; k < longest; k++) {
        size_t length = passing_length(call, direction, k, longest);
        room[k % 2] = length > room[k % 2] ? length : room[k % 2];
    }
    struct view areas[2] = {view_scratch_block(b, room[0]), view_scratch_block(b, room[1])};
    struct message going = view_blocks(b, source, r + direction, direction, longest);
    for (int k = 0; k < longest; k++) {
        struct message passes = message_part(b, view_block(&areas[k % 2], 0), 0,
                                             passing_length(call, direction, k, longest));
        struct message coming[2] = {view_block(&call->destination, r - direction * (k + 1)),
                                    passes};
        put_step(b, g);
        put_send(b, g, next, going);
        put_recv(b, g, previous, message_join(b, coming, 2));
        going = passes;
    }
}

static void ring_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct view source = view_source_apart(b, call);
    put_copy(b, g, view_block(&call->destination, g->rank), view_block(&source, g->rank));
    pass_around(b, call, g, &source, +1, g->size - 1);
}

static void bidir_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct group back = group_on_lane(b, g);
    struct view source = view_source_apart(b, call);
    put_copy(b, g, view_block(&call->destination, g->rank), view_block(&source, g->rank));
    pass_around(b, call, g, &source, +1, g->size / 2);
    pass_around(b, call, &back, &source, -1, (g->size - 1) / 2);
    group_join(b, g, &back);
}

const struct algorithm alltoall_ring = {
    .name = "ring",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "ranks store and forward blocks along the ring",
    .rounds = "p-1",
    .sent = "p(p-1)/2 b",
    .users = "links to neighbours only",
    .options = {OPTION_ORDER},
    .write = ring_alltoall,
};

const struct algorithm alltoall_ring_bidir = {
    .name = "ring-bidir",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "ranks store and forward blocks, the shorter way round the ring",
    .rounds = "floor(p/2)",
    .sent = "floor(p^2/4) b",
    .users = "links to neighbours only",
    .options = {OPTION_ORDER},
    .write = bidir_alltoall,
};
