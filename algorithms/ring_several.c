/*
 * ring_several.c - several rings at once over the same ranks, each on its own lane.
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
#include "algorithms/algorithms.h"

#include <stdio.h>

#include "base/numbers.h"

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
             problem->ranks, found, found == 1 ? "" : "s", wanted, found);
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
