/*
 * swing.c - partners at distance 1, 1, 3, 5, 11, ... to either side in turn, instead of 1, 2, 4, 8:
 * shorter ways on a physical ring of ranks, in the same number of steps.
 *
 *   rho(s) = 1 - 2 + 4 - ... (s+1 terms): 1, -1, 3, -5, 11, ...
 *   In step s rank r meets r + rho(s) if r is even, r - rho(s) if it is odd: pairs.
 *
 *   p = 8     step 0              step 1              step 2
 *             0-1 2-3 4-5 6-7     7-0 1-2 3-4 5-6     0-3 2-5 4-7 6-1
 *
 * reduce_scatter: for each block c the pairs form a tree towards rank c. The rank that meets c in
 * the last step sends its partial then. A rank that meets c, or a rank that sends later, in the
 * step before, sends then; and so on back to step 0. For even p each rank sends each other block
 * exactly once, also if p is not a power of two. allgather is the same, reversed in time.
 *
 * The trees of all blocks are alike: r and c may both be shifted by an even number, or mirrored (x
 * becomes 1 - x). So the tree of block 0 suffices.
 *
 * Odd p: the last rank exchanges directly, in an additional step: it sends block c to each rank c,
 * and receives block p-1 from all. The other p-1 ranks swing.
 *
 *   collective      name       steps             sent       ranks
 *   reduce_scatter  swing      q (odd p: q+1)    (p-1)b     any; q = ceil(log2 p), odd p: of p-1
 *   allgather       swing      the same          (p-1)b     any
 *   allreduce       swing      2q (2q+2)         2(p-1)b    any
 *   allreduce       swing-lat  q                 q n        powers of two: whole vectors
 *   broadcast       swing      q                 root q n   powers of two: holders double each step
 *
 * Scratch: reduce_scatter a block for each block on its way, allreduce none, swing-lat n, since it
 * alternates between two vectors: a receive must not overwrite unsent data.
 *
 * Source: De Sensi, Bonato, Saam, Hoefler, "Swing: short-cutting rings for higher bandwidth
 * allreduce", NSDI 2024.
 */
#include "algorithms/algorithms.h"

#include <stdio.h>

#include "algorithms/common/common.h"
#include "base/numbers.h"

/* The partner of rank r in step s. p is even. */
static int swing_peer(int p, int r, int s)
{
    long rho = 0;
    for (int i = 0; i <= s; i++)
        rho += i % 2 ? -(1L << i) : 1L << i;
    long peer = (r % 2 ? r - rho : r + rho) % p;
    return (int)(peer < 0 ? peer + p : peer);
}

/* The step in which each rank sends its partial of block 0; -1 for rank 0. */
static int *swing_tree(struct builder *b, int p)
{
    int *sends = index_array(b, p);
    if (!sends)
        return NULL;
    for (int r = 0; r < p; r++)
        sends[r] = -1;
    for (int s = log2_up(p) - 1; s >= 0; s--)
        for (int r = 1; r < p; r++) {
            int peer = swing_peer(p, r, s);
            if (sends[r] < 0 && (peer == 0 || sends[peer] > s))
                sends[r] = s;
        }
    return sends;
}

/* The blocks that rank r sends in step s. Returns how many. */
static int blocks_sent(const int *tree, int p, int r, int s, int *blocks)
{
    int count = 0;
    for (int c = 0; c < p; c++)
        if (c != r && tree[(c % 2 ? c - r + p : r - c + p) % p] == s)
            blocks[count++] = c;
    return count;
}

static struct message select_blocks(struct builder *b, const struct view *view, const int *which,
                                    int count)
{
    struct view some = view_select(b, view, which, count);
    return view_all(b, &some);
}

/* One step of a reduce_scatter: the blocks that this rank sends, and the blocks that it takes from
 * its peer. */
struct swing_step {
    int peer;
    int *sent, *taken;
    int sent_count, taken_count;
};

static struct swing_step swing_step_of(struct builder *b, const int *tree, int p, int r, int s)
{
    struct swing_step step = {
        .peer = swing_peer(p, r, s), .sent = index_array(b, p), .taken = index_array(b, p)};
    if (step.sent && step.taken) {
        step.sent_count = blocks_sent(tree, p, r, s, step.sent);
        step.taken_count = blocks_sent(tree, p, step.peer, s, step.taken);
    }
    return step;
}

/* A target must equal its input or be disjoint from it. If a step combines some blocks for the
 * first time and others again, the former are first copied to their partial. That never happens up
 * to 20 ranks, nor for powers of two. */
static void taken_level(struct builder *b, const struct group *g, const struct swing_step *step,
                        struct message *have, const struct view *partial, int *combined)
{
    bool again = false;
    for (int i = 0; i < step->taken_count; i++)
        again |= combined[step->taken[i]];
    for (int i = 0; i < step->taken_count; i++) {
        int c = step->taken[i];
        if (again && !combined[c]) {
            put_copy(b, g, view_block(partial, c), have[c]);
            have[c] = view_block(partial, c);
        }
        combined[c] = true;
    }
}

/* The additional step of odd p: the last rank sends the other blocks to their owners, and combines
 * its block from all ranks. have[c]: this rank's partial of block c. */
static void direct_reduce(struct builder *b, const struct group *g, struct message *have,
                          struct message own)
{
    int last = g->size - 1, r = g->rank;
    put_step(b, g);
    for (int c = 0; c < last; c++) {
        if (r == last)
            put_send(b, g, c, have[c]);
        if (r == last)
            put_recv_reduce(b, g, c, own, c == 0 ? have[last] : own);
    }
    if (r != last) {
        put_send(b, g, last, have[last]);
        put_recv_reduce(b, g, last, own, have[r]);
    }
}

/* Like a kernel of algorithms/common/common.h, but the result of this rank's block goes to `own`.
 * Only the last message is combined there, since it has no other block. */
static void swing_reduce_on(struct builder *b, const struct group *g, const struct view *source,
                            const struct view *partial, struct message own)
{
    int p = g->size, r = g->rank, even = p - p % 2, steps = log2_up(even);
    int *tree = swing_tree(b, even), *combined = index_array(b, p);
    struct message *have = message_array(b, p);
    if (!tree || !have || !combined)
        return;
    if (p == 1)
        put_copy(b, g, own, view_block(source, 0));
    for (int c = 0; c < p; c++) {
        have[c] = view_block(source, c);
        combined[c] = false;
    }
    struct view held = {have, p};
    for (int s = 0; s < steps; s++) {
        put_step(b, g);
        if (r == even)
            continue;
        struct swing_step step = swing_step_of(b, tree, even, r, s);
        taken_level(b, g, &step, have, partial, combined);
        struct message with = select_blocks(b, &held, step.taken, step.taken_count);
        for (int i = 0; i < step.taken_count; i++)
            have[step.taken[i]] = view_block(partial, step.taken[i]);
        if (s == steps - 1 && even == p)
            have[r] = own;
        put_send(b, g, step.peer, select_blocks(b, &held, step.sent, step.sent_count));
        put_recv_reduce(b, g, step.peer, select_blocks(b, &held, step.taken, step.taken_count),
                        with);
    }
    if (even < p && p > 1)
        direct_reduce(b, g, have, own);
}

/* Odd p: the reverse of direct_reduce(). */
static void direct_gather(struct builder *b, const struct group *g, const struct view *all)
{
    int last = g->size - 1, r = g->rank;
    put_step(b, g);
    for (int c = 0; c < last; c++) {
        if (r == last)
            put_send(b, g, c, view_block(all, last));
        if (r == last)
            put_recv(b, g, c, view_block(all, c));
        if (r == c)
            put_send(b, g, last, view_block(all, c));
        if (r == c)
            put_recv(b, g, last, view_block(all, last));
    }
}

static void swing_allgather_on(struct builder *b, const struct group *g, const struct view *all)
{
    int p = g->size, r = g->rank, even = p - p % 2;
    int *tree = swing_tree(b, even);
    if (!tree)
        return;
    for (int s = log2_up(even) - 1; s >= 0; s--) {
        put_step(b, g);
        if (r == even)
            continue;
        struct swing_step step = swing_step_of(b, tree, even, r, s);
        put_send(b, g, step.peer, select_blocks(b, all, step.taken, step.taken_count));
        put_recv(b, g, step.peer, select_blocks(b, all, step.sent, step.sent_count));
    }
    if (even < p && p > 1)
        direct_gather(b, g, all);
}

static void swing_reduce_scatter(struct builder *b, const struct call *call)
{
    struct view partial = view_scratch(b, &call->source);
    swing_reduce_on(b, call->group, &call->source, &partial, view_all(b, &call->destination));
}

static void swing_allgather(struct builder *b, const struct call *call)
{
    compose_allgather(b, call, swing_allgather_on);
}

static void swing_allreduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct view source = view_cut(b, &call->source, g->size);
    struct view all = view_cut(b, &call->destination, g->size);
    swing_reduce_on(b, g, &source, &all, view_block(&all, g->rank));
    swing_allgather_on(b, g, &all);
}

/* Results alternate such that the last one is in the destination. */
static void swing_lat_allreduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, steps = log2_up(p);
    struct view own = steps % 2 ? view_source_apart(b, call) : call->source;
    struct view other = view_scratch(b, &call->destination);
    struct message targets[2] = {view_all(b, &call->destination), view_all(b, &other)};
    struct message have = view_all(b, &own);
    if (p == 1)
        put_copy(b, g, targets[0], have);
    for (int s = 0; s < steps; s++) {
        int peer = swing_peer(p, g->rank, s);
        struct message target = targets[(steps - 1 - s) % 2];
        put_step(b, g);
        put_send(b, g, peer, have);
        put_recv_reduce(b, g, peer, target, have);
        have = target;
    }
}

/* Every holder sends to its partner, so a rank holds the vector after the first step in which its
 * partner is a holder. */
static void swing_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank, root = call->root;
    struct message whole = view_all(b, &call->destination);
    struct message held = r == root ? view_all(b, &call->source) : whole;
    int *since = index_array(b, p);
    if (!since)
        return;
    for (int i = 0; i < p; i++)
        since[i] = i == root ? 0 : p;
    if (r == root)
        put_copy(b, g, whole, held);
    for (int s = 0; s < log2_up(p); s++) {
        int peer = swing_peer(p, r, s);
        for (int i = 0; i < p; i++)
            if (since[i] <= s && since[swing_peer(p, i, s)] == p)
                since[swing_peer(p, i, s)] = s + 1;
        put_step(b, g);
        if (since[r] <= s)
            put_send(b, g, peer, held);
        else if (since[r] == s + 1)
            put_recv(b, g, peer, held);
    }
}

static const char *power_refuses(const struct problem *problem, const struct choice *choice,
                                 char *why, size_t size)
{
    int ranks = problem->ranks;
    (void)choice;
    if ((ranks & (ranks - 1)) == 0)
        return NULL;
    snprintf(why, size,
             "its pairs reach every rank only if the number of ranks is a power of two, not %d",
             ranks);
    return why;
}

const struct algorithm reduce_scatter_swing = {
    .name = "swing",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "partners at distance 1, 1, 3, 5, 11, ... to either side in turn",
    .rounds = "ceil(log2 p); odd p: ceil(log2 (p-1)) + 1",
    .sent = "(p-1)b",
    .users = "De Sensi et al.",
    .write = swing_reduce_scatter,
};

const struct algorithm allgather_swing = {
    .name = "swing",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "partners at distance ..., 11, 5, 3, 1, 1 to either side in turn",
    .rounds = "ceil(log2 p); odd p: ceil(log2 (p-1)) + 1",
    .sent = "(p-1)b",
    .users = "De Sensi et al.",
    .write = swing_allgather,
};

const struct algorithm allreduce_swing = {
    .name = "swing",
    .collectives = SERVES(ALLREDUCE),
    .summary = "swing reduce_scatter, then swing allgather",
    .rounds = "2ceil(log2 p); odd p: 2ceil(log2 (p-1)) + 2",
    .sent = "2(p-1)b",
    .users = "De Sensi et al.",
    .write = swing_allreduce,
};

const struct algorithm allreduce_swing_lat = {
    .name = "swing-lat",
    .collectives = SERVES(ALLREDUCE),
    .summary = "exchanges of the whole vector with swing's partners; powers of two",
    .rounds = "log2 p",
    .sent = "n log2 p",
    .users = "De Sensi et al.",
    .refuses = power_refuses,
    .write = swing_lat_allreduce,
};

const struct algorithm broadcast_swing = {
    .name = "swing",
    .collectives = SERVES(BROADCAST),
    .summary = "every holder sends to its partner of the step; powers of two",
    .rounds = "log2 p",
    .sent = "n log2 p",
    .users = "De Sensi et al.",
    .refuses = power_refuses,
    .write = swing_broadcast,
};
