/*
 * shapes.h - the shapes of trees, each said once, and the ways to walk a tree.
 *
 * A shape is a rule on relative ranks v = 0 .. p-1: who v's parent is, and in which round of a
 * broadcast v hears from it. That is enough: children are those who name a rank their parent, and
 * what goes up a tree goes in the same rounds, backwards.
 *
 * A walk hands on what it receives as it comes: long messages stream through the tree, and what
 * goes down follows close behind what still goes up. So no shape needs segments.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_SHAPES_H
#define CCTEST_ALGORITHMS_COMMON_SHAPES_H

#include <limits.h>

#include "schedule/algorithm.h"

/* The way up from one rank. */
struct uplink {
    int parent; /* relative rank; -1: this is the root */
    int round;  /* from 0 */
};

/* The uplink of relative rank v in a tree of p ranks; k is the shape's parameter, if it has one.
 * Relative rank 0 is the root, unless something else is said. */
typedef struct uplink tree_shape(int v, int p, int k);

/* The ranks but the root in k runs of equal length, in order: each is a chain that hangs off the
 * root. k = 1 is the chain, k = TREE_STAR the star. Depth ceil((p-1)/k). */
tree_shape tree_chains;
#define TREE_STAR INT_MAX

/* v hears from v less its lowest digit in base k that is not 0; the highest digits are served
 * first. A subtree is a run of ranks that starts at its root. ceil(log_k p) rounds; k = 2 is the
 * binomial tree, far first. */
tree_shape tree_knomial;

/* v hears from v less its highest bit, the lowest bits first: binomial, near first. ceil(log2 p)
 * rounds. */
tree_shape tree_binomial_near;

/* Binary trees, floor(log2 p) deep. Level: the children of v on level l are v + 2^l and v + 2^(l+1)
 * (one half of the tree is the odd ranks, the other the even ones). Heap: 2v + 1 and 2v + 2. */
tree_shape tree_level, tree_heap;

/* Binary tree whose root is the last rank. Of the others the first half (rounded down) is one
 * subtree, the rest the other one, each of the same form. floor(log2 p) deep. */
tree_shape tree_in_order;

/* NCCL's binary tree: v's lowest bit is its height, odd ranks are leaves. 0 has one child, the
 * largest power of two. ceil(log2 p) deep. */
tree_shape tree_nccl;

/* A relabelled copy of NCCL's tree, in which those that are leaves there stand inside: mirrored,
 * with the root p-1, when p is even; shifted by one, with the root 1, when p is odd. */
tree_shape tree_second;
/* The same hung below rank 0: its root hears from 0 one round earlier, and no one else serves 0. */
tree_shape tree_second_below;

/* One rank's place in a tree on a group. Ranks are places in the group. */
struct tree {
    int parent;             /* -1: none */
    int round;              /* of a broadcast, in which it hears from its parent */
    int rounds;             /* of the whole tree; the same on every rank */
    int children;           /* how many */
    const int *child;       /* those that differ most from this rank first */
    const int *child_round; /* in which each of them hears from this one; not in order */
};

/* Place `first` of the group is relative rank 0, the next place is 1, and so on, round the group.
 * The tree lives as long as the builder. */
struct tree tree_of(struct builder *b, const struct group *g, tree_shape *shape, int k, int first);

/* Down: block i of `going` to child i, after `coming` has come from the parent. */
void tree_down(struct builder *b, const struct group *g, const struct tree *tree,
               struct message coming, const struct view *going);
/* Up: `going` to the parent, after block i of `coming` has come from child i. */
void tree_up(struct builder *b, const struct group *g, const struct tree *tree,
             const struct view *coming, struct message going);

/* The root's `from` arrives in everybody else's `to`. On the others `from` means nothing, on the
 * root `to`. */
void tree_broadcast(struct builder *b, const struct group *g, const struct tree *tree,
                    struct message from, struct message to);
/* The combination of everybody's `from` arrives in the root's `to`. On the others that have
 * children, `to` is where a partial result lies. Children of one round are combined nearest first,
 * so that where subtrees are runs of ranks, what is combined always is a run of ranks. */
void tree_reduce(struct builder *b, const struct group *g, const struct tree *tree,
                 struct message from, struct message to);

/* Scatter and gather, for shapes in which a subtree is a run of ranks that starts at its root:
 * kernels as in compose.h, but for the shape. Every message is a subtree's blocks. */
void tree_scatter(struct builder *b, const struct group *g, tree_shape *shape, int k, int root,
                  const struct view *kept);
void tree_gather(struct builder *b, const struct group *g, tree_shape *shape, int k, int root,
                 const struct view *kept);

/* The option of algorithms whose tree is tree_knomial. */
#define TREE_RADIX                                                                                 \
    {                                                                                              \
        "radix", 2, 65536, 4, "base k: a rank has up to k-1 children in each round"                \
    }

#endif
