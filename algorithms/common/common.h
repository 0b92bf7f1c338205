/*
 * common.h - the interface of algorithms/common/.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_COMMON_H
#define CCTEST_ALGORITHMS_COMMON_COMMON_H

#include <limits.h>

#include "collective/schedule/schedule.h"
#include "collective/collective.h"

/* ---- Kernels, and the collectives of one or two of them.
 *
 * A kernel is the exchange of a collective, on blocks at any address. Its family writes it once;
 * here it becomes the collective of its own name, its form with counts, and a half of others:
 * reduce_scatter then allgather is an allreduce, scatter then allgather a broadcast, reduce_scatter
 * then gather a reduce.
 *
 * Blocks may differ in length, or be empty. The schedule keeps only scratch that operations touch,
 * so a view of scratch for every block costs only the blocks that are used.
 * ---- */

/* Block r of `partial` becomes, on rank r, the combination of all ranks' block r of `source`.
 * partial->messages[c] is where this rank may put its partial result of block c on its way. It may
 * be the same memory as block c of the source, which is then overwritten. */
typedef void reduce_scatter_kernel(struct builder *b, const struct group *g,
                                   const struct view *source, const struct view *partial);

/* Before: rank r has block r of `all`. Afterwards every rank has all blocks. */
typedef void allgather_kernel(struct builder *b, const struct group *g, const struct view *all);

/* Before: the root has all blocks of `kept`. Afterwards rank r has block r; it may hold others on
 * their way. */
typedef void scatter_kernel(struct builder *b, const struct group *g, int root,
                            const struct view *kept);

/* Before: rank r has block r of `kept`. Afterwards the root has all blocks; other ranks may hold
 * some on their way. */
typedef void gather_kernel(struct builder *b, const struct group *g, int root,
                           const struct view *kept);

/* Scratch for a block of every rank, as long as the blocks of `like`; the block of this rank
 * lies at `own` instead. */
struct view view_apart(struct builder *b, const struct group *g, const struct view *like,
                       struct message own);

/* The collectives of one kernel. */
void compose_reduce_scatter(struct builder *b, const struct call *call,
                            reduce_scatter_kernel *kernel);
void compose_allgather(struct builder *b, const struct call *call, allgather_kernel *kernel);
void compose_scatter(struct builder *b, const struct call *call, scatter_kernel *kernel);
void compose_gather(struct builder *b, const struct call *call, gather_kernel *kernel);

/* For kernels that have options: where a rank keeps the blocks. They also write the root's copy of
 * its own block; the kernel does the rest. */
struct view compose_scatter_begin(struct builder *b, const struct call *call);
struct view compose_gather_begin(struct builder *b, const struct call *call);

/* The collectives of two kernels: the vector is cut into a block for each rank. */
void compose_allreduce(struct builder *b, const struct call *call, reduce_scatter_kernel *first,
                       allgather_kernel *second);
void compose_broadcast(struct builder *b, const struct call *call, scatter_kernel *first,
                       allgather_kernel *second);
void compose_reduce(struct builder *b, const struct call *call, reduce_scatter_kernel *first,
                    gather_kernel *second);

/* ---- The fold: of p ranks, P take part, the largest power of a radix k up to p.
 *
 * Exchanges between partners whose ranks differ in one digit need a power of k. So p ranks become P
 * groups of neighbours, the first of them with up to k members, the last with one. One member of
 * each is active: it begins with the others' data, and sends them the result at the end.
 *
 *     p = 6, k = 2          p = 6, k = 2, even ones       p = 6, k = 3
 *     0 -> 1  2 -> 3  4  5    0 <- 1  2 <- 3  4  5         0, 1 -> 2  3 -> 4  5
 *        v=0     v=1  2  3   v=0     v=1     2  3                v=0    v=1  2
 *
 * The groups are runs of ranks, so a fold keeps operands in order. All ranks write the same
 * program: ranks that are not active are absent from the group of the active ones.
 * ---- */

struct fold {
    int radix;  /* k */
    int power;  /* P */
    int rest;   /* p - P */
    int chosen; /* index of the active rank in its group; in a smaller group the last is active */
    int mine;   /* v of the group that this rank is in */
    struct group actives; /* group rank v: the active rank of group v */
};

/* The fold of `g`. `favourite` -1: the last rank of each group is active. Else `favourite` (a group
 * rank of g) is active, and so are the ranks with the same index in their groups. */
struct fold fold_make(struct builder *b, const struct group *g, int radix, int favourite);

int fold_index(const struct fold *fold, int rank); /* the v of the group of `rank` */

/* One step, if p is not P: the active rank sends `result` to the others of its group. */
void fold_out(struct builder *b, const struct group *g, const struct fold *fold,
              struct message result);

/* ---- Exchanges in a logarithmic number of steps for any number of ranks.
 *
 * All ranks do the same: in hop k each sends blocks `reach` ranks ahead, and receives as many from
 * `reach` ranks behind. A block is named by its distance: the number of ranks from its holder to
 * the rank whose block it is. The hop sends the blocks at distances reach, reach + stride, ... They
 * are `reach` ranks nearer after the hop, and meet the receiver's blocks at 0, stride, ...:
 *
 *      p = 6, reach 1, stride 2:      distance   0  1  2  3  4  5
 *      what rank r sends to r+1                     x     x     x
 *      what it combines, from r-1                x     x     x
 *
 * A list of hops that sends every distance from 1 to p-1 exactly once is a reduce_scatter of
 * (p-1)b: every block gets home, combined on the way. Reversed in time it is an allgather of
 * (p-1)b. The ways to one rank form a tree: down it a scatter, up it a gather.
 * ---- */

struct hop {
    int reach;  /* ranks */
    int stride; /* between the distances of the blocks sent */
    int count;  /* blocks sent */
};

#define HOPS_MOST 32

struct route {
    /* The hops of a reduce_scatter of p ranks, in order; returns how many. */
    int (*hops)(int p, struct hop hops[HOPS_MOST]);
    int direction; /* 1: ahead is the next rank; -1: the previous one */
    int most;      /* blocks in a message, and so in a round; 0: all blocks of a hop */
    /* The order of the blocks in memory, and so in messages: the block at index i is order[i].
     * NULL: by distance. */
    void (*lay)(int p, int order[]);
};

/* The collectives of blocks. Scatter and gather do not read `most`: they send a branch of the tree
 * as one message. */
void route_reduce_scatter(struct builder *b, const struct call *call, const struct route *route);
void route_allgather(struct builder *b, const struct call *call, const struct route *route);
void route_scatter(struct builder *b, const struct call *call, const struct route *route);
void route_gather(struct builder *b, const struct call *call, const struct route *route);

/* The collectives of a vector, which is cut into a block for each rank: reduce_scatter or scatter
 * by `first`, then allgather by `second`, with the same order of blocks; for reduce, reduce_scatter
 * then gather. */
void route_allreduce(struct builder *b, const struct call *call, const struct route *first,
                     const struct route *second);
void route_broadcast(struct builder *b, const struct call *call, const struct route *first,
                     const struct route *second);
void route_reduce(struct builder *b, const struct call *call, const struct route *route);

/* The hops of the circulant graph: reaches are p/2, p/4, ..., 1, rounded up. */
int circulant_hops(int p, struct hop hops[HOPS_MOST]);

/* ---- The groups of a hierarchical algorithm, as seen by one rank.
 *
 *   local rank     0   1   2
 *   node 0        [0]-[1]-[2]      A node: ranks that are close to each other (intra).
 *                  |   |   |       A rail: the ranks with the same local rank (inter).
 *   node 1        [3]-[4]-[5]
 *
 * Nodes come from problem->shape: where the ranks run, --shape, or groups=. The ranks of a node
 * need not be consecutive.
 * ---- */

struct nodes {
    const struct shape *shape;
    int count;            /* nodes */
    int each;             /* ranks of each node; of this rank's node where sizes differ */
    int node, local_rank; /* of this rank */
    struct group own;     /* the ranks of this rank's node, by local rank */
};

struct nodes nodes_of(struct builder *b, const struct call *call);

/* The ranks of a node. */
struct group nodes_group(struct builder *b, const struct group *g, const struct nodes *nodes,
                         int node);
/* A rail: the ranks of one local rank. A node that is too small gives its last rank. DIAGONAL: node
 * a gives local rank (size - 1 - a) mod size. */
#define DIAGONAL (-1)
struct group nodes_rail(struct builder *b, const struct group *g, const struct nodes *nodes,
                        int local_rank);

/* call_part() in every node at the same time. The root in each node has the local rank
 * nodes_rail_member(part->root); part->group is not read. Nodes of different sizes have different
 * numbers of rounds; all ranks count the rounds of the slowest. */
void nodes_part(struct builder *b, const struct call *call, const struct nodes *nodes,
                const char *option, enum collective_id collective, const struct call *part);

/* The ranks' blocks, sorted by node, then local rank. */
struct view nodes_by_node(struct builder *b, const struct nodes *nodes, const struct view *view);
/* The ranks' blocks, sorted by local rank, then node. For nodes of one size. */
struct view nodes_by_local_rank(struct builder *b, const struct nodes *nodes,
                                const struct view *view);

/* The options of composed algorithms. `set`: SERVES() of the collectives of the part. */
#define INTRA(set, standard)                                                                       \
    {                                                                                              \
        .name = "intra", .kind = OPTION_PART, .collectives = (set), .standard_part = (standard),   \
        .help = "the algorithm inside a node"                                                      \
    }
#define INTER(set, standard)                                                                       \
    {                                                                                              \
        .name = "inter", .kind = OPTION_PART, .collectives = (set), .standard_part = (standard),   \
        .help = "the algorithm between the nodes"                                                  \
    }
#define NODE_GROUPS                                                                                \
    {                                                                                              \
        .name = "groups", .kind = OPTION_GROUPS,                                                   \
        .help = "ranks of each node (4), or of all nodes (2+3), instead of the real nodes"         \
    }

/* For refuses(): why parts intra= and inter= cannot serve these nodes; NULL: they can. */
const char *nodes_parts_refuse(const struct problem *problem, const struct choice *choice,
                               char *why, size_t size);
/* For refuses(), of an algorithm that needs nodes of one size: NULL if they are, else the reason,
 * written into `why`. */
const char *nodes_uneven(const struct problem *problem, char *why, size_t size);

/* ---- Exchanges among k^e ranks, level by level: in a level a rank meets the k - 1 others
 * that differ from it in one digit (base k) only.
 *
 *   k = 2, e = 3:  near first          far first           k = 3, e = 2:  near first
 *                  0-1 2-3 4-5 6-7     0-4 1-5 2-6 3-7                    012    345    678
 *                  0-2 1-3 4-6 5-7     0-2 1-3 4-6 5-7                    0.3.6  1.4.7  2.5.8
 *                  0-4 1-5 2-6 3-7     0-1 2-3 4-5 6-7
 *
 * In every level ranks exchange whole vectors, or they cut a window. At first the window is all
 * blocks; each level cuts it into k parts, and a rank keeps the one of its digit. At the end it
 * holds a single block. The way back, from the last level to the first, widens the window. No level
 * receives into memory that it sends from, so one area suffices.
 *
 * Far first, rank v ends with block v. Near first, it ends with the block whose digits are v's
 * in reverse, and a rank always combines runs of ranks: operands stay in order.
 *
 * The kernels need a group of k^e ranks, and views of as many blocks (of any lengths). The
 * collectives around them, for any number of ranks and all radixes, are here, too: doubling.c has
 * the ones of radix 2, knomial.c has the radix as an option.
 * ---- */

/* The order of the levels that cut the window; gathering takes them in reverse. */
enum recursive_order { NEAR_FIRST, FAR_FIRST };

/* A rank's block is the one that it ends with. That block of `partial` becomes the combination of
 * all ranks' same block of `source`. Partial results lie in `partial` on their way; it may be the
 * same memory as the source, which is then overwritten. */
void recursive_halving(struct builder *b, const struct group *g, int radix,
                       enum recursive_order order, const struct view *source,
                       const struct view *partial);

/* Before: each rank has its block of `kept`. Afterwards the root has all; others may hold some. */
void recursive_gather(struct builder *b, const struct group *g, int radix,
                      enum recursive_order order, int root, const struct view *kept);

/* Before: the root has all blocks of `kept`. Afterwards each rank has its block, and may hold
 * others. */
void recursive_scatter(struct builder *b, const struct group *g, int radix,
                       enum recursive_order order, int root, const struct view *kept);

/* One level with whole vectors: `to` becomes the combination of `own` of the `radix` ranks that
 * differ in the digit of weight `weight`, in the order of digits. All of them get the same bits.
 * `to` must not be the memory of `own`. */
void recursive_exchange(struct builder *b, const struct group *g, int weight, int radix,
                        struct message own, struct message to);

/* The collectives for any number of ranks: they fold first, by the same radix. */

/* Whole vectors in every level. Also a barrier. */
void recursive_allreduce(struct builder *b, const struct call *call, int radix);
/* The same on all blocks; a rank keeps its own. */
void recursive_allreduce_scatter(struct builder *b, const struct call *call, int radix);
/* Windows, and back: the vector is cut into a block for each active rank. */
void halving_allreduce(struct builder *b, const struct call *call, int radix,
                       enum recursive_order order);
void halving_reduce(struct builder *b, const struct call *call, int radix,
                    enum recursive_order order);
void halving_broadcast(struct builder *b, const struct call *call, int radix,
                       enum recursive_order order);
/* Windows of the ranks' blocks. Near first, a last step moves the blocks to their ranks. */
void halving_reduce_scatter(struct builder *b, const struct call *call, int radix,
                            enum recursive_order order);
void doubling_allgather(struct builder *b, const struct group *g, int radix,
                        const struct view *all);

/* ---- The shapes of trees, and the ways to walk a tree.
 *
 * A shape is a rule on relative ranks v = 0 .. p-1: the parent of v, and the round of a broadcast
 * in which v receives from it. The rest follows: a rank's children are the ranks whose parent it
 * is, and data goes up a tree in the same rounds, in reverse. So that one rank of many need not ask
 * all others, a shape also lists the children of v.
 *
 * A walk passes elements on as they arrive: long messages stream through the tree, and data goes
 * down while later elements still go up. So no shape needs segments.
 * ---- */

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
 * kernels as in common.h, with the shape as parameter. A message is the blocks of a subtree. */
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
