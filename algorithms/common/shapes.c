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
#include "algorithms/common/common.h"

#include <stdlib.h>

#include "base/numbers.h"

static const struct uplink at_root = {.parent = -1, .round = -1};

/* Adds a child to those that are listed, or only counted. */
static void child_add(int *child, int *count, int rank)
{
    if (child)
        child[*count] = rank;
    ++*count;
}

/* Chains. */

static struct uplink chains_up(int v, int p, int k)
{
    if (v == 0)
        return at_root;
    int base = (p - 1) / k, longer = (p - 1) % k; /* the first `longer` runs have base + 1 */
    int in_longer = longer * (base + 1), at = v - 1;
    int depth = at < in_longer ? at % (base + 1) : (at - in_longer) % base;
    return (struct uplink){.parent = depth == 0 ? 0 : v - 1, .round = depth};
}

static int chains_children(int v, int p, int k, int *child)
{
    int count = 0, base = (p - 1) / k, longer = (p - 1) % k;
    if (v > 0 && v + 1 < p && chains_up(v + 1, p, k).parent == v)
        child_add(child, &count, v + 1);
    for (int run = 0, next = 1; v == 0 && next < p; run++) {
        child_add(child, &count, next);
        next += base + (run < longer);
    }
    return count;
}

static int chains_rounds(int p, int k)
{
    return p > 1 ? (p - 2) / k + 1 : 0;
}

const struct tree_shape tree_chains = {chains_up, chains_children, chains_rounds};

/* K-nomial. */

static struct uplink knomial_up(int v, int p, int k)
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

static int knomial_children(int v, int p, int k, int *child)
{
    int count = 0;
    for (long weight = 1; weight < p && v % (weight * k) == 0; weight *= k)
        for (long to = v + weight; to < p && to < v + weight * k; to += weight)
            child_add(child, &count, (int)to);
    return count;
}

static int knomial_rounds(int p, int k)
{
    int rounds = 0;
    for (long reached = 1; reached < p; reached *= k)
        rounds++;
    return rounds;
}

const struct tree_shape tree_knomial = {knomial_up, knomial_children, knomial_rounds};

/* Binomial, near first. */

static struct uplink binomial_near_up(int v, int p, int k)
{
    (void)p, (void)k;
    if (v == 0)
        return at_root;
    int bit = log2_down(v);
    return (struct uplink){.parent = v - (1 << bit), .round = bit};
}

static int binomial_near_children(int v, int p, int k, int *child)
{
    (void)k;
    int count = 0;
    for (long bit = v ? 2L << log2_down(v) : 1; v + bit < p; bit *= 2)
        child_add(child, &count, (int)(v + bit));
    return count;
}

/* ceil(log2 p). */
static int log_rounds(int p, int k)
{
    (void)k;
    return log2_up(p);
}

const struct tree_shape tree_binomial_near = {binomial_near_up, binomial_near_children, log_rounds};

/* Binary trees. */

static struct uplink level_up(int v, int p, int k)
{
    (void)p, (void)k;
    if (v == 0)
        return at_root;
    int level = log2_down(v + 1), above = 1 << (level - 1);
    bool near = v + 1 - above < 2 * above;
    return (struct uplink){.parent = near ? v - above : v - 2 * above, .round = level - 1};
}

static int level_children(int v, int p, int k, int *child)
{
    (void)k;
    int count = 0;
    long level = 1L << log2_down(v + 1);
    for (int i = 1; i <= 2; i++)
        if (v + i * level < p)
            child_add(child, &count, (int)(v + i * level));
    return count;
}

/* floor(log2 p). */
static int binary_rounds(int p, int k)
{
    (void)k;
    return log2_down(p);
}

const struct tree_shape tree_level = {level_up, level_children, binary_rounds};

static struct uplink heap_up(int v, int p, int k)
{
    (void)p, (void)k;
    if (v == 0)
        return at_root;
    return (struct uplink){.parent = (v - 1) / 2, .round = log2_down(v + 1) - 1};
}

static int heap_children(int v, int p, int k, int *child)
{
    (void)k;
    int count = 0;
    for (long to = 2L * v + 1; to <= 2L * v + 2 && to < p; to++)
        child_add(child, &count, (int)to);
    return count;
}

const struct tree_shape tree_heap = {heap_up, heap_children, binary_rounds};

/* In order. [low, high) is a subtree, high - 1 its root. */
struct in_order {
    int low, high, round;
};

/* The subtree of v; *parent: of its root. */
static struct in_order in_order_find(int v, int p, int *parent)
{
    struct in_order tree = {.high = p, .round = -1};
    *parent = -1;
    while (v != tree.high - 1) {
        int middle = tree.low + (tree.high - tree.low) / 2;
        *parent = tree.high - 1;
        tree.round++;
        if (v < middle)
            tree.high = middle;
        else
            tree.low = middle, tree.high--;
    }
    return tree;
}

static struct uplink in_order_up(int v, int p, int k)
{
    (void)k;
    int parent;
    struct in_order tree = in_order_find(v, p, &parent);
    return (struct uplink){.parent = parent, .round = tree.round};
}

static int in_order_children(int v, int p, int k, int *child)
{
    (void)k;
    int count = 0, parent;
    struct in_order tree = in_order_find(v, p, &parent);
    int middle = tree.low + (tree.high - tree.low) / 2;
    if (middle > tree.low)
        child_add(child, &count, middle - 1);
    if (tree.high - 1 > middle)
        child_add(child, &count, tree.high - 2);
    return count;
}

const struct tree_shape tree_in_order = {in_order_up, in_order_children, binary_rounds};

/* NCCL's two trees. */

static int nccl_parent(int v, int p)
{
    int bit = v & -v, up = (v ^ bit) | (2 * bit);
    return up < p ? up : v ^ bit;
}

static struct uplink nccl_up(int v, int p, int k)
{
    (void)k;
    if (v == 0)
        return at_root;
    struct uplink up = {.parent = nccl_parent(v, p), .round = 0};
    for (int above = up.parent; above != 0; above = nccl_parent(above, p))
        up.round++;
    return up;
}

/* Below v, and above it the farthest power of two that is there. */
static int nccl_children(int v, int p, int k, int *child)
{
    (void)k;
    int count = 0, bit = v ? v & -v : 1 << log2_up(p);
    if (v > 0 && bit > 1)
        child_add(child, &count, v - bit / 2);
    for (bit /= 2; bit > 0 && v + bit >= p; bit /= 2)
        ;
    if (bit > 0)
        child_add(child, &count, v + bit);
    return count;
}

const struct tree_shape tree_nccl = {nccl_up, nccl_children, log_rounds};

/* The rank of NCCL's tree whose place a rank of the second one has; and back. */
static int second_place(int v, int p)
{
    return p % 2 == 0 ? p - 1 - v : (v + p - 1) % p;
}

static int second_rank(int place, int p)
{
    return p % 2 == 0 ? p - 1 - place : (place + 1) % p;
}

static struct uplink second_up(int v, int p, int k)
{
    struct uplink up = nccl_up(second_place(v, p), p, k);
    if (up.parent >= 0)
        up.parent = second_rank(up.parent, p);
    return up;
}

static int second_children(int v, int p, int k, int *child)
{
    int count = nccl_children(second_place(v, p), p, k, child);
    for (int i = 0; child && i < count; i++)
        child[i] = second_rank(child[i], p);
    return count;
}

const struct tree_shape tree_second = {second_up, second_children, log_rounds};

static struct uplink second_below_up(int v, int p, int k)
{
    struct uplink up = second_up(v, p, k);
    if (v == 0)
        return at_root;
    return (struct uplink){.parent = up.parent < 0 ? 0 : up.parent, .round = up.round + 1};
}

static int second_below_children(int v, int p, int k, int *child)
{
    int all = second_children(v, p, k, child), count = 0, root = second_rank(0, p);
    if (!child) /* one more than that at most */
        return all + (v == 0);
    for (int i = 0; i < all; i++)
        if (child[i] != 0)
            child_add(child, &count, child[i]);
    if (v == 0 && root != 0)
        child_add(child, &count, root);
    return count;
}

static int second_below_rounds(int p, int k)
{
    return p > 2 ? log_rounds(p, k) + 1 : p - 1;
}

const struct tree_shape tree_second_below = {second_below_up, second_below_children,
                                             second_below_rounds};

/* Walks. */

/* The farthest from rank *argument first; of two that are as far, the higher one. */
static int farther(const void *a, const void *b, void *argument)
{
    int x = *(const int *)a - *(const int *)argument, y = *(const int *)b - *(const int *)argument;
    int far = abs(y) - abs(x);
    return far ? far : y - x;
}

struct tree tree_of(struct builder *b, const struct group *g, const struct tree_shape *shape, int k,
                    int first)
{
    int p = g->size, r = g->rank, v = (r - first + p) % p, most = shape->children(v, p, k, NULL);
    struct uplink own = shape->up(v, p, k);
    int *child = index_array(b, most), *child_round = index_array(b, most);
    struct tree tree = {
        .parent = own.parent < 0 ? -1 : (own.parent + first) % p,
        .round = own.round,
        .rounds = shape->rounds(p, k),
        .child = child,
        .child_round = child_round,
    };
    if (!child || !child_round)
        return tree;
    tree.children = shape->children(v, p, k, child);
    for (int i = 0; i < tree.children; i++)
        child[i] = (child[i] + first) % p;
    qsort_r(child, (size_t)tree.children, sizeof *child, farther, &r);
    for (int i = 0; i < tree.children; i++)
        child_round[i] = shape->up((child[i] - first + p) % p, p, k).round;
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
static struct message subtree_blocks(struct builder *b, const struct view *kept,
                                     const struct tree_shape *shape, int k, int root, int rank)
{
    int p = kept->blocks, v = (rank - root + p) % p, end = v + 1;
    while (end < p && shape->up(end, p, k).parent >= v)
        end++;
    return view_blocks(b, kept, rank, 1, end - v);
}

static struct view children_blocks(struct builder *b, const struct view *kept,
                                   const struct tree_shape *shape, int k, int root,
                                   const struct tree *tree)
{
    struct message *messages = message_array(b, tree->children);
    for (int i = 0; messages && i < tree->children; i++)
        messages[i] = subtree_blocks(b, kept, shape, k, root, tree->child[i]);
    return (struct view){messages, messages ? tree->children : 0};
}

void tree_scatter(struct builder *b, const struct group *g, const struct tree_shape *shape, int k,
                  int root, const struct view *kept)
{
    struct tree tree = tree_of(b, g, shape, k, root);
    struct view going = children_blocks(b, kept, shape, k, root, &tree);
    tree_down(b, g, &tree, subtree_blocks(b, kept, shape, k, root, g->rank), &going);
}

void tree_gather(struct builder *b, const struct group *g, const struct tree_shape *shape, int k,
                 int root, const struct view *kept)
{
    struct tree tree = tree_of(b, g, shape, k, root);
    struct view coming = children_blocks(b, kept, shape, k, root, &tree);
    tree_up(b, g, &tree, &coming, subtree_blocks(b, kept, shape, k, root, g->rank));
}
