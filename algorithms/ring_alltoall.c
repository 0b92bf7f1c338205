/*
 * ring_alltoall.c - alltoall between neighbours only: ranks store and forward blocks.
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
#include "algorithms/algorithms.h"

/* Elements that go on after step k: the blocks of rank `from`, k + 1 ranks back, that travel k + 2
 * to `longest` hops in direction `way`. */
static size_t passing_length(const struct call *call, int way, int k, int longest)
{
    int p = call->group->size, from = (call->group->rank + (p - way) * (k + 1)) % p;
    size_t length = 0;
    for (int hops = k + 2; hops <= longest; hops++)
        length += call_length(call, from, (from + (p + way) * hops) % p);
    return length;
}

/* Moves all blocks that travel up to `longest` hops in direction `way`: +1 to the next rank, -1 to
 * the previous one. */
static void pass_around(struct builder *b, const struct call *call, const struct group *g,
                        const struct view *source, int way, int longest)
{
    int p = g->size, r = g->rank, next = (r + p + way) % p, previous = (r + p - way) % p;
    size_t room[2] = {0, 0};
    for (int k = 0; k < longest; k++) {
        size_t length = passing_length(call, way, k, longest);
        room[k % 2] = length > room[k % 2] ? length : room[k % 2];
    }
    struct view areas[2] = {view_scratch_block(b, room[0]), view_scratch_block(b, room[1])};
    struct message going = view_blocks(b, source, r + way, way, longest);
    for (int k = 0; k < longest; k++) {
        struct message passes =
            message_part(b, view_block(&areas[k % 2], 0), 0, passing_length(call, way, k, longest));
        struct message coming[2] = {view_block(&call->destination, r - way * (k + 1)), passes};
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
