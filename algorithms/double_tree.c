/*
 * double_tree.c - two binary trees at once, or two halves of one.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

/*
 * Dbt: two binary trees at once, each for one half of the vector.
 *
 *   p = 6     first half:  0 -> 4 -> 2, 5      second half:  5 -> 1 -> 3, 0
 *                          2 -> 1, 3                         3 -> 4, 2
 *
 * In one binary tree half of the ranks are leaves: they only receive. The second tree is NCCL's
 * first one relabelled (mirrored for even p, shifted by one for odd p), so that these are inner
 * ranks. No rank has more than two children in both trees together, so each sends at most n down,
 * with all links busy: the full bandwidth at the latency of a tree.
 *
 *   collective   steps             sent                                    scratch
 *   broadcast    ceil(log2 p)+1    n; the root 1.5 n for odd p             0
 *   reduce       ceil(log2 p)+1    n                                       n/2
 *   allreduce    2 ceil(log2 p)    2n: n up and n down                     0
 *
 * Broadcast and reduce have one root, but the trees have two. The second tree's root is a child of
 * the first one's: that hop is the additional step (with 2 ranks it is the only one). The root is
 * also an inner rank of the second tree: there it has its children, but no parent.
 *
 * The trees share some links, so each half has its own lane.
 *
 * Used by: NCCL (Tree), UCC. Source: Sanders, Speck, Traff, "Two-tree algorithms for full bandwidth
 * broadcast, reduction and scan", Parallel Computing 35, 2009; the trees are the ones of NCCL's
 * graph/trees.cc.
 */
/* The halves of the vector, each with its tree and its lane. */
struct halves {
    struct group group[2];
    struct tree tree[2];
};

static struct halves halves_of(struct builder *b, const struct call *call,
                               const struct tree_shape *second)
{
    struct halves halves = {.group = {*call->group, group_on_lane(b, call->group)}};
    halves.tree[0] = tree_of(b, &halves.group[0], &tree_nccl, 0, call->root);
    halves.tree[1] = tree_of(b, &halves.group[1], second, 0, call->root);
    return halves;
}

static void dbt_broadcast(struct builder *b, const struct call *call)
{
    struct halves halves = halves_of(b, call, &tree_second_below);
    struct view from = view_cut(b, &call->source, 2), to = view_cut(b, &call->destination, 2);
    if (call->group->rank == call->root)
        put_copy(b, call->group, view_all(b, &to), view_all(b, &from));
    for (int i = 0; i < 2; i++)
        tree_broadcast(b, &halves.group[i], &halves.tree[i], view_block(&from, i),
                       view_block(&to, i));
}

static void dbt_reduce(struct builder *b, const struct call *call)
{
    struct halves halves = halves_of(b, call, &tree_second_below);
    bool is_root = call->group->rank == call->root;
    struct view result = is_root ? call->destination : view_scratch(b, &call->source);
    struct view from = view_cut(b, &call->source, 2), to = view_cut(b, &result, 2);
    for (int i = 0; i < 2; i++)
        tree_reduce(b, &halves.group[i], &halves.tree[i], view_block(&from, i), view_block(&to, i));
}

static void dbt_allreduce(struct builder *b, const struct call *call)
{
    struct halves halves = halves_of(b, call, &tree_second);
    struct view from = view_cut(b, &call->source, 2), to = view_cut(b, &call->destination, 2);
    for (int i = 0; i < 2; i++) {
        struct message half = view_block(&to, i);
        tree_reduce(b, &halves.group[i], &halves.tree[i], view_block(&from, i), half);
        tree_broadcast(b, &halves.group[i], &halves.tree[i], half, half);
    }
}

const struct algorithm broadcast_dbt = {
    .name = "dbt",
    .aliases = {"double-binary-tree"},
    .collectives = SERVES(BROADCAST),
    .summary = "each half down its own binary tree",
    .rounds = "ceil(log2 p) + 1",
    .sent = "n (the root 1.5n for odd p)",
    .users = "UCC",
    .write = dbt_broadcast,
};

const struct algorithm reduce_dbt = {
    .name = "dbt",
    .aliases = {"double-binary-tree"},
    .collectives = SERVES(REDUCE),
    .summary = "each half up its own binary tree",
    .rounds = "ceil(log2 p) + 1",
    .sent = "n",
    .users = "UCC, NCCL",
    .write = dbt_reduce,
};

const struct algorithm allreduce_dbt = {
    .name = "dbt",
    .aliases = {"double-binary-tree", "nccl-tree"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "each half up its own binary tree and down again, streamed",
    .rounds = "2 ceil(log2 p)",
    .sent = "2n",
    .users = "NCCL (Tree), UCC",
    .write = dbt_allreduce,
};

/*
 * Broadcast of two halves, each down one half of a binary tree.
 *
 *              0
 *      h0    /   \    h1         Odd ranks (v, from the root) carry the first half, even ones the
 *          1       2             second. At the end v and v+1 exchange their halves: 1 <-> 2,
 *        /   \      \            3 <-> 4. 5 has no partner, so the root sends it the other half.
 *       3     5      4
 *
 * floor(log2 p) + 1 steps. An inner rank sends 1.5 n: two halves down, one to its partner. For even
 * p the root sends 1.5 n, too: one half down each side, and one to the last rank. No scratch. In
 * one binary tree inner ranks send 2n: this sends less, for one more step.
 *
 * Used by: Open MPI (split_binary_tree).
 */
/* The half that relative rank v > 0 gets from its parent, or, `other`, from its partner. */
static struct message half_of(const struct view *halves, int v, bool other)
{
    return view_block(halves, (v % 2 == 0) != other);
}

static void split_binary_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, v = (g->rank - call->root + p) % p;
    struct view halves = view_cut(b, v == 0 ? &call->source : &call->destination, 2);
    struct tree tree = tree_of(b, g, &tree_level, 0, call->root);
    struct message *going = message_array(b, tree.children);
    for (int i = 0; going && i < tree.children; i++)
        going[i] = half_of(&halves, (tree.child[i] - call->root + p) % p, false);
    struct view halves_going = {going, going ? tree.children : 0};

    if (v == 0)
        put_copy(b, g, view_all(b, &call->destination), view_all(b, &call->source));
    tree_down(b, g, &tree, half_of(&halves, v, false), &halves_going);

    int partner = v % 2 == 0 ? v - 1 : v + 1;
    put_step(b, g);
    if (p % 2 == 0 && v == 0)
        put_send(b, g, (call->root + p - 1) % p, half_of(&halves, p - 1, true));
    if (v > 0 && partner < p)
        put_send(b, g, (call->root + partner) % p, half_of(&halves, v, false));
    if (v > 0)
        put_recv(b, g, (call->root + partner) % p, half_of(&halves, v, true));
}

const struct algorithm broadcast_split_binary = {
    .name = "split-binary",
    .collectives = SERVES(BROADCAST),
    .summary = "each half down one half of a binary tree, then pairs swap them",
    .rounds = "floor(log2 p) + 1",
    .sent = "1.5n",
    .users = "Open MPI (split_binary_tree)",
    .write = split_binary_broadcast,
};
