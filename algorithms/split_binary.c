/*
 * split_binary.c - broadcast of two halves, each down one half of a binary tree.
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
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

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
