/*
 * shapes.c - the shapes of trees, and the walks along them.
 *
 * For p = 6, by rounds of a broadcast:
 *
 *   chains, k=2    0 -> 1, 4 | 1 -> 2, 4 -> 5 | 2 -> 3
 *   knomial, k=2   0 -> 4 | 0 -> 2 | 0 -> 1, 2 -> 3, 4 -> 5
 *   binomial near  0 -> 1 | 0 -> 2, 1 -> 3 | 0 -> 4, 1 -> 5
 *   level          0 -> 1, 2 | 1 -> 3, 5; 2 -> 4
 *   heap           0 -> 1, 2 | 1 -> 3, 4; 2 -> 5
 *   in order       5 -> 2, 4 | 2 -> 0, 1; 4 -> 3
 *   nccl           0 -> 4 | 4 -> 2, 5 | 2 -> 1, 3
 *   second         5 -> 1 | 1 -> 3, 0 | 3 -> 4, 2
 *   second below   0 -> 5 | 5 -> 1 | 1 -> 3 | 3 -> 4, 2
 *
 * Sources: MPICH, Open MPI (chains, level, in order), HCCL (binomial near), NCCL graph/trees.cc;
 * Sanders, Speck, Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
 * Parallel Computing 35, 2009.
 */
#include "algorithms/common/shapes.h"

#include "base/numbers.h"

static const struct uplink at_root = {.parent = -1, .round = -1};

/* Shapes. */

struct uplink tree_chains(int v, int p, int k)
{
    if (v == 0)
        return at_root;
    int base = (p - 1) / k, longer = (p - 1) % k; /* the first `longer` runs have base + 1 */
    int in_longer = longer * (base + 1), at = v - 1;
    int depth = at < in_longer ? at % (base + 1) : (at - in_longer) % base;
    return (struct uplink){.parent = depth == 0 ? 0 : v - 1, .round = depth};
}

struct uplink tree_knomial(int v, int p, int k)
{
    if (v == 0)
        return at_root;
    long weight = 1;
    int round = 0;
    while (weight * k < p)
        weight *= k;
    for (; v % weight != 0; weight /= k)
        round++;
    return (struct uplink){.parent = (int)(v - v % (weight * k)), .round = round};
}

struct uplink tree_binomial_near(int v, int p, int k)
{
    (void)p, (void)k;
    if (v == 0)
        return at_root;
    int bit = log2_down(v);
    return (struct uplink){.parent = v - (1 << bit), .round = bit};
}

struct uplink tree_level(int v, int p, int k)
{
    (void)p, (void)k;
    if (v == 0)
        return at_root;
    int level = log2_down(v + 1), above = 1 << (level - 1);
    bool near = v + 1 - above < 2 * above;
    return (struct uplink){.parent = near ? v - above : v - 2 * above, .round = level - 1};
}

struct uplink tree_heap(int v, int p, int k)
{
    (void)p, (void)k;
    if (v == 0)
        return at_root;
    return (struct uplink){.parent = (v - 1) / 2, .round = log2_down(v + 1) - 1};
}

/* [low, high) is the subtree of v, high - 1 its root. */
struct uplink tree_in_order(int v, int p, int k)
{
    (void)k;
    struct uplink up = at_root;
    int low = 0, high = p;
    while (v != high - 1) {
        int middle = low + (high - low) / 2;
        up = (struct uplink){.parent = high - 1, .round = up.round + 1};
        if (v < middle)
            high = middle;
        else
            low = middle, high--;
    }
    return up;
}

static int nccl_parent(int v, int p)
{
    int bit = v & -v, up = (v ^ bit) | (2 * bit);
    return up < p ? up : v ^ bit;
}

struct uplink tree_nccl(int v, int p, int k)
{
    (void)k;
    if (v == 0)
        return at_root;
    struct uplink up = {.parent = nccl_parent(v, p), .round = 0};
    for (int above = up.parent; above != 0; above = nccl_parent(above, p))
        up.round++;
    return up;
}

struct uplink tree_second(int v, int p, int k)
{
    bool mirror = p % 2 == 0;
    struct uplink up = tree_nccl(mirror ? p - 1 - v : (v + p - 1) % p, p, k);
    if (up.parent >= 0)
        up.parent = mirror ? p - 1 - up.parent : (up.parent + 1) % p;
    return up;
}

struct uplink tree_second_below(int v, int p, int k)
{
    struct uplink up = tree_second(v, p, k);
    if (v == 0)
        return at_root;
    return (struct uplink){.parent = up.parent < 0 ? 0 : up.parent, .round = up.round + 1};
}

/* Walks. */

/* Visits all other ranks, the farthest first: p-1 up, p-1 down, p-2 up, ... */
struct tree tree_of(struct builder *b, const struct group *g, tree_shape *shape, int k, int first)
{
    int p = g->size, r = g->rank, v = (r - first + p) % p;
    struct uplink own = shape(v, p, k);
    int *child = index_array(b, p), *child_round = index_array(b, p);
    struct tree tree = {
        .parent = own.parent < 0 ? -1 : (own.parent + first) % p,
        .round = own.round,
        .rounds = own.round + 1,
        .child = child,
        .child_round = child_round,
    };
    for (int i = 2 * p - 1; child && child_round && i >= 2; i--) {
        int rank = i % 2 ? r + i / 2 : r - i / 2;
        if (rank < 0 || rank >= p)
            continue;
        struct uplink up = shape((rank - first + p) % p, p, k);
        tree.rounds = up.round >= tree.rounds ? up.round + 1 : tree.rounds;
        if (up.parent != v)
            continue;
        child[tree.children] = rank;
        child_round[tree.children++] = up.round;
    }
    return tree;
}

void tree_down(struct builder *b, const struct group *g, const struct tree *tree,
               struct message coming, const struct view *going)
{
    for (int round = 0; round < tree->rounds; round++) {
        put_step(b, g);
        if (tree->round == round)
            put_recv(b, g, tree->parent, coming);
        for (int i = 0; i < tree->children; i++)
            if (tree->child_round[i] == round)
                put_send(b, g, tree->child[i], view_block(going, i));
    }
}

/* Up: `going` to the parent, after block i of `coming` from child i. */
static void tree_up(struct builder *b, const struct group *g, const struct tree *tree,
                    const struct view *coming, struct message going)
{
    for (int round = tree->rounds - 1; round >= 0; round--) {
        put_step(b, g);
        for (int i = tree->children - 1; i >= 0; i--)
            if (tree->child_round[i] == round)
                put_recv(b, g, tree->child[i], view_block(coming, i));
        if (tree->round == round)
            put_send(b, g, tree->parent, going);
    }
}

void tree_broadcast(struct builder *b, const struct group *g, const struct tree *tree,
                    struct message from, struct message to)
{
    struct view to_all = view_of(b, tree->parent < 0 ? from : to);
    tree_down(b, g, tree, to, &to_all);
}

/* A leaf sends `from` itself. */
void tree_reduce(struct builder *b, const struct group *g, const struct tree *tree,
                 struct message from, struct message to)
{
    struct message so_far = from;
    if (g->size == 1)
        put_copy(b, g, to, from);
    for (int round = tree->rounds - 1; round >= 0; round--) {
        put_step(b, g);
        for (int i = tree->children - 1; i >= 0; i--)
            if (tree->child_round[i] == round) {
                put_recv_reduce(b, g, tree->child[i], to, so_far);
                so_far = to;
            }
        if (tree->round == round)
            put_send(b, g, tree->parent, so_far);
    }
}

/* The blocks of the subtree of `rank`: the run of ranks whose parents are in it. */
static struct message subtree_blocks(struct builder *b, const struct view *kept, tree_shape *shape,
                                     int k, int root, int rank)
{
    int p = kept->blocks, v = (rank - root + p) % p, end = v + 1;
    while (end < p && shape(end, p, k).parent >= v)
        end++;
    return view_blocks(b, kept, rank, 1, end - v);
}

static struct view children_blocks(struct builder *b, const struct view *kept, tree_shape *shape,
                                   int k, int root, const struct tree *tree)
{
    struct message *messages = message_array(b, tree->children);
    for (int i = 0; messages && i < tree->children; i++)
        messages[i] = subtree_blocks(b, kept, shape, k, root, tree->child[i]);
    return (struct view){messages, messages ? tree->children : 0};
}

void tree_scatter(struct builder *b, const struct group *g, tree_shape *shape, int k, int root,
                  const struct view *kept)
{
    struct tree tree = tree_of(b, g, shape, k, root);
    struct view going = children_blocks(b, kept, shape, k, root, &tree);
    tree_down(b, g, &tree, subtree_blocks(b, kept, shape, k, root, g->rank), &going);
}

void tree_gather(struct builder *b, const struct group *g, tree_shape *shape, int k, int root,
                 const struct view *kept)
{
    struct tree tree = tree_of(b, g, shape, k, root);
    struct view coming = children_blocks(b, kept, shape, k, root, &tree);
    tree_up(b, g, &tree, &coming, subtree_blocks(b, kept, shape, k, root, g->rank));
}
