/*
 * tree.c - broadcast down a tree, reduce up a tree, and both in sequence: allreduce and barrier.
 * One algorithm for each shape of tree (shapes.c lists them).
 *
 *        0            Down, a rank passes on elements as they arrive; up, as they are combined.
 *       / \           So a long message is on all links of a deep tree at once, and takes little
 *      1   2          more than one hop; a short message takes the depth of the tree.
 *     / \   \
 *    3   5   4        An allreduce goes up and then down: the root sends the first elements down
 *                     while the last ones still come up.
 *
 *   shape                steps            broadcast: sent     reduce: sent
 *   linear               1                (p-1)n              n
 *   linear, C            ceil((p-1)/C)    (p-1)n              -
 *   chain                p-1              n                   n
 *   chain-k              ceil((p-1)/k)    k n                 -
 *   binomial             ceil(log2 p)     n ceil(log2 p)      n
 *   binomial-near        ceil(log2 p)     n ceil(log2 p)      -
 *   knomial              ceil(log_k p)    (k-1)n ceil(log_k p) at most; reduce n
 *   binary               floor(log2 p)    2n                  n
 *   in-order-binary      floor(log2 p)    -                   n; 1 step more if the root is not p-1
 *
 * An allreduce has twice the steps. Its busiest rank sends as much as the root of a broadcast, or n
 * more if inner ranks have as many children as the root. In a reduce every rank except the root
 * sends n, once.
 *
 * Ranks are relative to the root: v = (r - root) mod p. Broadcast and allreduce need no scratch,
 * reduce n on every rank between a leaf and the root. With root 0, linear, chain, binomial and
 * knomial combine in rank order. With another root they do not, since v wraps from rank p-1 to rank
 * 0: chain combines from the highest v down, binomial runs of v. A rank with several children in
 * one round (linear, knomial) takes the nearest ranks on both sides first: root 2 of 4 takes 1, 3,
 * 0. in-order-binary keeps rank order for every root: its tree is on world ranks below p-1, which
 * sends the result to the root.
 *
 * Used by: linear HCCL (Star), Open MPI; chain HCCL (Ring), Open MPI (pipeline; chain with fanout
 * k), NCCL; binomial MPICH, Open MPI, HCCL (NHR one-shot); binomial-near HCCL (NB); knomial Open
 * MPI, MPICH, UCC; binary and in-order-binary Open MPI; the tree of allreduce NCCL.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

/* Broadcast. */

static void broadcast_down(struct builder *b, const struct call *call,
                           const struct tree_shape *shape, int k)
{
    const struct group *g = call->group;
    struct message to = view_all(b, &call->destination), from = view_all(b, &call->source);
    struct tree tree = tree_of(b, g, shape, k, call->root);
    if (g->rank == call->root) /* the root sends from its source, so no send waits for this copy */
        put_copy(b, g, to, from);
    tree_broadcast(b, g, &tree, from, to);
}

/* The root serves `concurrency` peers at a time, from itself onwards. */
static void linear_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, window = (int)call_option(call, "concurrency");
    struct message to = view_all(b, &call->destination), from = view_all(b, &call->source);
    if (g->rank == call->root)
        put_copy(b, g, to, from);
    for (int v = 1; v < p; v++) {
        int peer = (call->root + v) % p;
        if ((v - 1) % (window > 0 ? window : p) == 0) {
            if (v > 1)
                put_fence(b, g);
            put_step(b, g);
        }
        if (g->rank == call->root)
            put_send(b, g, peer, from);
        if (g->rank == peer)
            put_recv(b, g, call->root, to);
    }
}

static void chain_broadcast(struct builder *b, const struct call *call)
{
    broadcast_down(b, call, &tree_chains, 1);
}

static void chains_broadcast(struct builder *b, const struct call *call)
{
    broadcast_down(b, call, &tree_chains, (int)call_option(call, "fanout"));
}

static void binomial_broadcast(struct builder *b, const struct call *call)
{
    broadcast_down(b, call, &tree_knomial, 2);
}

static void binomial_near_broadcast(struct builder *b, const struct call *call)
{
    broadcast_down(b, call, &tree_binomial_near, 0);
}

static void knomial_broadcast(struct builder *b, const struct call *call)
{
    broadcast_down(b, call, &tree_knomial, (int)call_option(call, "radix"));
}

/* Level or heap: the user chooses. */
static const char *const binary_layouts[] = {"level", "heap", NULL};

static const struct tree_shape *binary_shape(const struct call *call)
{
    return call_option(call, "layout") == 0 ? &tree_level : &tree_heap;
}

static void binary_broadcast(struct builder *b, const struct call *call)
{
    broadcast_down(b, call, binary_shape(call), 0);
}

/* Reduce. */

/* Where a rank combines: the root in its destination, others in scratch. */
static struct message partial_result(struct builder *b, const struct call *call)
{
    struct view scratch = view_scratch(b, &call->source);
    bool is_root = call->group->rank == call->root;
    return view_all(b, is_root ? &call->destination : &scratch);
}

static void reduce_up(struct builder *b, const struct call *call, const struct tree_shape *shape,
                      int k)
{
    struct tree tree = tree_of(b, call->group, shape, k, call->root);
    tree_reduce(b, call->group, &tree, view_all(b, &call->source), partial_result(b, call));
}

static void linear_reduce(struct builder *b, const struct call *call)
{
    reduce_up(b, call, &tree_chains, TREE_STAR);
}

static void chain_reduce(struct builder *b, const struct call *call)
{
    reduce_up(b, call, &tree_chains, 1);
}

static void binomial_reduce(struct builder *b, const struct call *call)
{
    reduce_up(b, call, &tree_knomial, 2);
}

static void knomial_reduce(struct builder *b, const struct call *call)
{
    reduce_up(b, call, &tree_knomial, (int)call_option(call, "radix"));
}

static void binary_reduce(struct builder *b, const struct call *call)
{
    reduce_up(b, call, binary_shape(call), 0);
}

static void in_order_reduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int last = g->size - 1;
    struct tree tree = tree_of(b, g, &tree_in_order, 0, 0);
    struct message result = partial_result(b, call);
    tree_reduce(b, g, &tree, view_all(b, &call->source), result);
    if (call->root == last)
        return;
    put_step(b, g);
    if (g->rank == last)
        put_send(b, g, call->root, result);
    if (g->rank == call->root)
        put_recv(b, g, last, result);
}

/* Up, and down again. */

static void allreduce_up_down(struct builder *b, const struct call *call,
                              const struct tree_shape *shape, int k)
{
    struct message all = view_all(b, &call->destination);
    struct tree tree = tree_of(b, call->group, shape, k, 0);
    tree_reduce(b, call->group, &tree, view_all(b, &call->source), all);
    tree_broadcast(b, call->group, &tree, all, all);
}

static void linear_allreduce(struct builder *b, const struct call *call)
{
    allreduce_up_down(b, call, &tree_chains, TREE_STAR);
}

static void binomial_allreduce(struct builder *b, const struct call *call)
{
    allreduce_up_down(b, call, &tree_knomial, 2);
}

static void knomial_allreduce(struct builder *b, const struct call *call)
{
    allreduce_up_down(b, call, &tree_knomial, (int)call_option(call, "radix"));
}

static void binary_allreduce(struct builder *b, const struct call *call)
{
    allreduce_up_down(b, call, binary_shape(call), 0);
}

static void nccl_allreduce(struct builder *b, const struct call *call)
{
    allreduce_up_down(b, call, &tree_nccl, 0);
}

/* clang-format off */
#define LAYOUT \
    {.name = "layout", .most = 1, .kind = OPTION_WORD, .words = binary_layouts, \
     .help = "the children of v on level l: v+2^l and v+2^(l+1), or 2v+1 and 2v+2"}
/* clang-format on */

const struct algorithm broadcast_linear = {
    .name = "linear",
    .aliases = {"star", "flat", "basic-linear"},
    .collectives = SERVES(BROADCAST),
    .summary = "the root sends to all ranks, or to C ranks at a time",
    .rounds = "1, or ceil((p-1)/C)",
    .sent = "(p-1)n",
    .users = "HCCL (Star), Open MPI",
    .options = {{"concurrency", 0, 65536, 0, "peers in flight; 0: all"}},
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

const struct algorithm broadcast_chain_k = {
    .name = "chain-k",
    .collectives = SERVES(BROADCAST),
    .summary = "several chains, all of which begin at the root",
    .rounds = "ceil((p-1)/k)",
    .sent = "k n",
    .users = "Open MPI (chain)",
    .options = {{"fanout", 1, 65536, 4, "chains"}},
    .write = chains_broadcast,
};

const struct algorithm broadcast_binomial = {
    .name = "binomial",
    .aliases = {"nhr-oneshot", "tree"},
    .collectives = SERVES(BROADCAST),
    .summary = "the number of ranks with the vector doubles in each step",
    .rounds = "ceil(log2 p)",
    .sent = "n ceil(log2 p)",
    .users = "MPICH, Open MPI, HCCL",
    .write = binomial_broadcast,
};

const struct algorithm broadcast_binomial_near = {
    .name = "binomial-near",
    .collectives = SERVES(BROADCAST),
    .summary = "a binomial tree that serves near ranks first",
    .rounds = "ceil(log2 p)",
    .sent = "n ceil(log2 p)",
    .users = "HCCL (NB)",
    .write = binomial_near_broadcast,
};

const struct algorithm broadcast_knomial = {
    .name = "knomial",
    .collectives = SERVES(BROADCAST),
    .summary = "the number of ranks with the vector grows k-fold in each step",
    .rounds = "ceil(log_k p)",
    .sent = "(k-1)n ceil(log_k p) at most",
    .users = "Open MPI, MPICH, UCC",
    .options = {TREE_RADIX},
    .write = knomial_broadcast,
};

const struct algorithm broadcast_binary = {
    .name = "binary",
    .collectives = SERVES(BROADCAST),
    .summary = "down a binary tree, streamed",
    .rounds = "floor(log2 p)",
    .sent = "2n",
    .users = "Open MPI",
    .options = {LAYOUT},
    .write = binary_broadcast,
};

const struct algorithm reduce_linear = {
    .name = "linear",
    .aliases = {"star"},
    .collectives = SERVES(REDUCE),
    .summary = "all ranks send to the root, which combines in rank order",
    .rounds = "1",
    .sent = "n",
    .users = "HCCL (Star), Open MPI",
    .write = linear_reduce,
};

const struct algorithm reduce_chain = {
    .name = "chain",
    .aliases = {"ring", "pipeline"},
    .collectives = SERVES(REDUCE),
    .summary = "from neighbour to neighbour, combined and streamed",
    .rounds = "p-1",
    .sent = "n",
    .users = "HCCL (Ring), Open MPI, NCCL",
    .write = chain_reduce,
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

const struct algorithm reduce_knomial = {
    .name = "knomial",
    .collectives = SERVES(REDUCE),
    .summary = "up a tree of k-1 children a round, streamed",
    .rounds = "ceil(log_k p)",
    .sent = "n",
    .users = "Open MPI, UCC",
    .options = {TREE_RADIX},
    .write = knomial_reduce,
};

const struct algorithm reduce_binary = {
    .name = "binary",
    .collectives = SERVES(REDUCE),
    .summary = "up a binary tree, streamed",
    .rounds = "floor(log2 p)",
    .sent = "n",
    .users = "Open MPI",
    .options = {LAYOUT},
    .write = binary_reduce,
};

const struct algorithm reduce_in_order_binary = {
    .name = "in-order-binary",
    .collectives = SERVES(REDUCE),
    .summary = "up a binary tree that keeps the order of the ranks, then to the root",
    .rounds = "floor(log2 p) (+1 unless the root is p-1)",
    .sent = "n",
    .users = "Open MPI (operators that do not commute)",
    .write = in_order_reduce,
};

const struct algorithm allreduce_linear = {
    .name = "linear",
    .aliases = {"basic-linear"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "all ranks send to rank 0, which sends back the result",
    .rounds = "2",
    .sent = "(p-1)n",
    .users = "Open MPI (basic_linear)",
    .write = linear_allreduce,
};

const struct algorithm allreduce_binomial = {
    .name = "binomial",
    .aliases = {"nhr-oneshot", "nonoverlapping", "reduce-bcast"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "up a binomial tree and down again, streamed",
    .rounds = "2 ceil(log2 p)",
    .sent = "n ceil(log2 p)",
    .users = "Open MPI (nonoverlapping), MPICH (tree), HCCL",
    .write = binomial_allreduce,
};

const struct algorithm allreduce_knomial = {
    .name = "knomial",
    .collectives = SERVES(ALLREDUCE),
    .summary = "up a tree of k-1 children a round and down again, streamed",
    .rounds = "2 ceil(log_k p)",
    .sent = "(k-1)n ceil(log_k p) at most",
    .users = "MPICH (tree)",
    .options = {TREE_RADIX},
    .write = knomial_allreduce,
};

const struct algorithm allreduce_binary_tree = {
    .name = "binary-tree",
    .collectives = SERVES(ALLREDUCE),
    .summary = "up a binary tree and down again, streamed",
    .rounds = "2 floor(log2 p)",
    .sent = "3n",
    .users = "Open MPI",
    .options = {LAYOUT},
    .write = binary_allreduce,
};

const struct algorithm allreduce_tree = {
    .name = "tree",
    .aliases = {"nccl-btree"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "up NCCL's binary tree and down again, streamed",
    .rounds = "2 ceil(log2 p)",
    .sent = "3n",
    .users = "NCCL (one of its two trees)",
    .write = nccl_allreduce,
};

const struct algorithm barrier_central = {
    .name = "central",
    .aliases = {"linear"},
    .collectives = SERVES(BARRIER),
    .summary = "all ranks signal rank 0, which signals all ranks",
    .rounds = "2",
    .sent = "p-1 signals",
    .users = "Open MPI",
    .write = linear_allreduce,
};

const struct algorithm barrier_tree = {
    .name = "tree",
    .collectives = SERVES(BARRIER),
    .summary = "signals up a binomial tree and down again",
    .rounds = "2 ceil(log2 p)",
    .sent = "ceil(log2 p) signals",
    .users = "Open MPI",
    .write = binomial_allreduce,
};
