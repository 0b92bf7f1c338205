/*
 * nodes.h - the groups of a hierarchical algorithm, as seen by one rank.
 *
 *   local rank     0   1   2
 *   node 0        [0]-[1]-[2]      A node: ranks that are close to each other (intra).
 *                  |   |   |       A rail: the ranks with the same local rank (inter).
 *   node 1        [3]-[4]-[5]
 *
 * Nodes come from problem->shape: where the ranks run, --shape, or groups=. The ranks of a node
 * need not be consecutive.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_NODES_H
#define CCTEST_ALGORITHMS_COMMON_NODES_H

#include "collective/shape.h"
#include "collective/schedule/algorithm.h"

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

#endif
