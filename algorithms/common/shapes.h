/*
 * shapes.h - the shapes of trees, and the ways to walk a tree.
 *
 * A shape is a rule on relative ranks v = 0 .. p-1: the parent of v, and the round of a broadcast
 * in which v receives from it. The rest follows: a rank's children are the ranks whose parent it
 * is, and data goes up a tree in the same rounds, in reverse. So that one rank of many need not ask
 * all others, a shape also lists the children of v.
 *
 * A walk passes elements on as they arrive: long messages stream through the tree, and data goes
 * down while later elements still go up. So no shape needs segments.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_SHAPES_H
#define CCTEST_ALGORITHMS_COMMON_SHAPES_H

#include <limits.h>

#include "collective/schedule/algorithm.h"

/* The way up from one rank. */
struct uplink {
    int parent; /* relative rank; -1: this is the root */
    int round;  /* from 0 */
};

/* A tree of p ranks; k is its parameter, if it has one. Relative rank 0 is the root, if not stated
 * otherwise. */
struct tree_shape {
    struct uplink (*up)(int v, int p, int k);
    /* Writes the relative ranks whose parent is v, in any order, and returns how many; NULL: how
     * many there are at most. */
    int (*children)(int v, int p, int k, int *child);
    int (*rounds)(int p, int k); /* of a broadcast */
};

/* All ranks except the root in k runs of equal length, in order: each run is a chain from the root.
 * k = 1 is the chain, k = TREE_STAR the star. Depth ceil((p-1)/k). */
extern const struct tree_shape tree_chains;
#define TREE_STAR INT_MAX

/* The parent of v is v with its lowest non-zero digit (base k) set to 0; the highest digits are
 * served first. A subtree is a run of ranks that starts at its root. ceil(log_k p) rounds; k = 2 is
 * the binomial tree, far first. */
extern const struct tree_shape tree_knomial;

/* The parent of v is v without its highest bit, the lowest bits first: binomial, near first.
 * ceil(log2 p) rounds. */
extern const struct tree_shape tree_binomial_near;

/* Binary trees, floor(log2 p) deep. Level: the children of v on level l are v + 2^l and v + 2^(l+1)
 * (one half of the tree is the odd ranks, the other the even ones). Heap: 2v + 1 and 2v + 2. */
extern const struct tree_shape tree_level, tree_heap;

/* A binary tree whose root is the last rank. The first half of the others (rounded down) is one
 * subtree, the rest the other one, each of the same form. floor(log2 p) deep. */
extern const struct tree_shape tree_in_order;

/* NCCL's binary tree: v's lowest bit is its height, odd ranks are leaves. 0 has one child, the
 * largest power of two. ceil(log2 p) deep. */
extern const struct tree_shape tree_nccl;

/* A relabelled copy of NCCL's tree, in which the leaves of that one are inner ranks: mirrored, with
 * the root p-1, if p is even; shifted by one, with the root 1, if p is odd. */
extern const struct tree_shape tree_second;
/* The same below rank 0: its root receives from 0, one round earlier, and 0 has no parent. */
extern const struct tree_shape tree_second_below;

/* A tree on a group, as one rank sees it. Ranks are group ranks. */
struct tree {
    int parent;             /* -1: none */
    int round;              /* of a broadcast, in which it receives from its parent */
    int rounds;             /* of the whole tree; the same on every rank */
    int children;           /* how many */
    const int *child;       /* the farthest from this rank first */
    const int *child_round; /* the round in which each of them receives; not in order */
};

/* Group rank `first` is relative rank 0, the next one is 1, and so on, modulo the size of the
 * group. The tree lives as long as the builder. */
struct tree tree_of(struct builder *b, const struct group *g, const struct tree_shape *shape, int k,
                    int first);

/* Down: block i of `going` to child i, after `coming` from the parent. */
void tree_down(struct builder *b, const struct group *g, const struct tree *tree,
               struct message coming, const struct view *going);

/* Sends the root's `from` to the `to` of all other ranks. The others do not read `from`, the root
 * does not write `to`. */
void tree_broadcast(struct builder *b, const struct group *g, const struct tree *tree,
                    struct message from, struct message to);
/* Combines `from` of all ranks into `to` of the root. On inner ranks `to` holds partial results.
 * Children of one round are combined nearest first: so if subtrees are runs of ranks, partial
 * results are always over runs of ranks. */
void tree_reduce(struct builder *b, const struct group *g, const struct tree *tree,
                 struct message from, struct message to);

/* Scatter and gather, for shapes in which a subtree is a run of ranks that starts at its root:
 * kernels as in compose.h, with the shape as parameter. A message is the blocks of a subtree. */
void tree_scatter(struct builder *b, const struct group *g, const struct tree_shape *shape, int k,
                  int root, const struct view *kept);
void tree_gather(struct builder *b, const struct group *g, const struct tree_shape *shape, int k,
                 int root, const struct view *kept);

/* The option of algorithms whose tree is tree_knomial. */
#define TREE_RADIX                                                                                 \
    {                                                                                              \
        "radix", 2, 65536, 4, "base k: a rank has up to k-1 children in each round"                \
    }

#endif
