/*
 * scatter.c - scatter and gather along trees, and the collectives in which they are one half.
 *
 *   binomial scatter, p = 6        0 -> 4: blocks 4, 5
 *                                  0 -> 2: blocks 2, 3
 *                                  0 -> 1, 2 -> 3, 4 -> 5: one block each
 *
 * A message is the blocks of a whole subtree, so the root sends each block once. Gather is the
 * reverse: a rank sends its children's blocks and its own to its parent.
 *
 *   collective      name          steps              sent, busiest rank         scratch
 *   scatter         linear        1                  (p-1)b                     0
 *   scatter         binomial      ceil(log2 p)       (p-1)b                     up to n/2
 *   scatter         knomial       ceil(log_k p)      (p-1)b                     up to n/k
 *   gather          as scatter, but the busiest rank sends its subtree: b, n/2, n/k at most
 *   allgather       gather-bcast  2 ceil(log2 p)     p b ceil(log2 p)           0
 *   reduce_scatter  linear        2                  p b (the others); the root (p-1)b       n
 *   broadcast       scatter-ring  ceil(log2 p)+p-1   2(p-1)b                    0
 *   reduce          ring-gather   p-1+ceil(log2 p)   (p-1)b + n/2 at most       n
 *
 * A subtree is a run of ranks from v on, v = (r - root) mod p, and so of blocks: two spans where it
 * wraps. All ranks know the lengths of all blocks, so trees serve the forms with counts, too.
 * gather-bcast gathers into the destination, which has room for all blocks.
 *
 * Both halves of scatter-ring and ring-gather send the minimum. So a broadcast of a long message in
 * two stages is faster than one that sends all of it ceil(log2 p) times.
 *
 * Used by: linear HCCL (Star, Mesh), NCCL, Open MPI; binomial MPICH, Open MPI; knomial UCC, MPICH;
 * gather-bcast and linear reduce_scatter Open MPI (basic); scatter-ring MPICH, Open MPI. Source of
 * scatter-ring: Barnett, Shuler, van de Geijn, Gupta, Payne, Watts, "Interprocessor collective
 * communication library (InterCom)", 1994.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

static void linear_scatter_on(struct builder *b, const struct group *g, int root,
                              const struct view *kept)
{
    tree_scatter(b, g, &tree_chains, TREE_STAR, root, kept);
}

static void linear_gather_on(struct builder *b, const struct group *g, int root,
                             const struct view *kept)
{
    tree_gather(b, g, &tree_chains, TREE_STAR, root, kept);
}

void binomial_scatter_on(struct builder *b, const struct group *g, int root,
                         const struct view *kept)
{
    tree_scatter(b, g, &tree_knomial, 2, root, kept);
}

static void binomial_gather_on(struct builder *b, const struct group *g, int root,
                               const struct view *kept)
{
    tree_gather(b, g, &tree_knomial, 2, root, kept);
}

static void linear_scatter(struct builder *b, const struct call *call)
{
    compose_scatter(b, call, linear_scatter_on);
}

static void linear_gather(struct builder *b, const struct call *call)
{
    compose_gather(b, call, linear_gather_on);
}

static void binomial_scatter(struct builder *b, const struct call *call)
{
    compose_scatter(b, call, binomial_scatter_on);
}

static void binomial_gather(struct builder *b, const struct call *call)
{
    compose_gather(b, call, binomial_gather_on);
}

static void knomial_scatter(struct builder *b, const struct call *call)
{
    struct view kept = compose_scatter_begin(b, call);
    int radix = (int)call_option(call, "radix");
    tree_scatter(b, call->group, &tree_knomial, radix, call->root, &kept);
}

static void knomial_gather(struct builder *b, const struct call *call)
{
    struct view kept = compose_gather_begin(b, call);
    int radix = (int)call_option(call, "radix");
    tree_gather(b, call->group, &tree_knomial, radix, call->root, &kept);
}

static void gather_bcast_on(struct builder *b, const struct group *g, const struct view *all)
{
    struct tree tree = tree_of(b, g, &tree_knomial, 2, 0);
    struct message whole = view_all(b, all);
    binomial_gather_on(b, g, 0, all);
    tree_broadcast(b, g, &tree, whole, whole);
}

static void gather_bcast(struct builder *b, const struct call *call)
{
    compose_allgather(b, call, gather_bcast_on);
}

/* The root combines in scratch. Its destination, in place, is a part of an operand: a target must
 * not overlap its input partly. */
static void linear_reduce_scatter(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct tree tree = tree_of(b, g, &tree_chains, TREE_STAR, 0);
    struct call second = *call;
    second.root = 0;
    if (g->size > 1)
        second.source = view_scratch(b, &call->source);
    tree_reduce(b, g, &tree, view_all(b, &call->source), view_all(b, &second.source));
    linear_scatter(b, &second);
}

static void scatter_then_ring(struct builder *b, const struct call *call)
{
    compose_broadcast(b, call, binomial_scatter_on, ring_allgather_on);
}

static void ring_then_gather(struct builder *b, const struct call *call)
{
    compose_reduce(b, call, ring_reduce_scatter_on, binomial_gather_on);
}

const struct algorithm scatter_linear = {
    .name = "linear",
    .aliases = {"star", "mesh", "direct", "basic-linear"},
    .collectives = SERVES(SCATTER) | SERVES(SCATTERV),
    .summary = "each rank's block straight from the root",
    .rounds = "1",
    .sent = "(p-1)b",
    .users = "HCCL (Star, Mesh), NCCL, Open MPI",
    .write = linear_scatter,
};

const struct algorithm scatter_binomial = {
    .name = "binomial",
    .collectives = SERVES(SCATTER) | SERVES(SCATTERV),
    .summary = "the blocks of a whole subtree at a time",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "MPICH, Open MPI",
    .write = binomial_scatter,
};

const struct algorithm scatter_knomial = {
    .name = "knomial",
    .collectives = SERVES(SCATTER) | SERVES(SCATTERV),
    .summary = "the blocks of a subtree at a time, to k-1 children a round",
    .rounds = "ceil(log_k p)",
    .sent = "(p-1)b",
    .users = "UCC, MPICH (tree)",
    .options = {TREE_RADIX},
    .write = knomial_scatter,
};

const struct algorithm gather_linear = {
    .name = "linear",
    .aliases = {"star", "mesh", "direct", "basic-linear"},
    .collectives = SERVES(GATHER) | SERVES(GATHERV),
    .summary = "each block straight to the root",
    .rounds = "1",
    .sent = "b",
    .users = "HCCL (Star, Mesh), NCCL, Open MPI",
    .write = linear_gather,
};

const struct algorithm gather_binomial = {
    .name = "binomial",
    .collectives = SERVES(GATHER) | SERVES(GATHERV),
    .summary = "the blocks of a whole subtree at a time",
    .rounds = "ceil(log2 p)",
    .sent = "p/2 b at most",
    .users = "MPICH, Open MPI",
    .write = binomial_gather,
};

const struct algorithm gather_knomial = {
    .name = "knomial",
    .collectives = SERVES(GATHER) | SERVES(GATHERV),
    .summary = "the blocks of a subtree at a time, from k-1 children a round",
    .rounds = "ceil(log_k p)",
    .sent = "p/k b at most, rounded up to a power of k",
    .users = "UCC, MPICH (tree)",
    .options = {TREE_RADIX},
    .write = knomial_gather,
};

const struct algorithm allgather_gather_bcast = {
    .name = "gather-bcast",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "gather to rank 0, then broadcast, both on binomial trees",
    .rounds = "2 ceil(log2 p)",
    .sent = "p b ceil(log2 p)",
    .users = "Open MPI (basic)",
    .write = gather_bcast,
};

const struct algorithm reduce_scatter_linear = {
    .name = "linear",
    .aliases = {"nonoverlapping"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "reduce to rank 0, then scatter, both direct",
    .rounds = "2",
    .sent = "p b",
    .users = "Open MPI (basic, nonoverlapping)",
    .write = linear_reduce_scatter,
};

const struct algorithm broadcast_scatter_ring = {
    .name = "scatter-ring",
    .collectives = SERVES(BROADCAST),
    .summary = "binomial scatter, then ring allgather (van de Geijn)",
    .rounds = "ceil(log2 p) + p-1",
    .sent = "2(p-1)b",
    .users = "MPICH, Open MPI (scatter_allgather_ring)",
    .options = {OPTION_ORDER},
    .write = scatter_then_ring,
};

const struct algorithm reduce_ring_gather = {
    .name = "ring-gather",
    .collectives = SERVES(REDUCE),
    .summary = "ring reduce_scatter, then binomial gather",
    .rounds = "p-1 + ceil(log2 p)",
    .sent = "(p-1)b + p/2 b at most",
    .options = {OPTION_ORDER},
    .write = ring_then_gather,
};
