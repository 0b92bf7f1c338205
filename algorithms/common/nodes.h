/*
 * nodes.h - the groups of a hierarchical algorithm, as seen by one rank.
 *
 *            place 0   1   2
 *   node 0        [0]-[1]-[2]      A node: ranks that are close to each other (intra).
 *                  |   |   |       A rail: the ranks at the same place of every node (inter).
 *   node 1        [3]-[4]-[5]
 *
 * Nodes come from problem->shape: where the ranks run, --shape, or groups=. The ranks of a node
 * need not follow each other.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_NODES_H
#define CCTEST_ALGORITHMS_COMMON_NODES_H

#include "collective/shape.h"
#include "schedule/algorithm.h"

struct nodes {
    const struct shape *shape;
    int count;            /* nodes */
    int each;             /* ranks of each node; of the own one where they differ */
    int node, local_rank; /* of this rank */
    struct group own;     /* the ranks of this rank's node, in the order of their places */
};

struct nodes nodes_of(struct builder *b, const struct call *call);

/* The ranks of a node. */
struct group nodes_group(struct builder *b, const struct group *g, const struct nodes *nodes,
                         int node);
/* The ranks at one place of every node; a node that is too small gives its last rank. DIAGONAL:
 * node a gives the place (size - 1 - a) mod size. */
#define DIAGONAL (-1)
struct group nodes_rail(struct builder *b, const struct group *g, const struct nodes *nodes,
                        int place);
/* The place in node `node` of its member of that rail. */
int nodes_rail_place(const struct nodes *nodes, int node, int place);

/* A part in every node at the same time; rank at place nodes_rail_place(root) is its root. Where
 * nodes differ in size so do their rounds; all ranks count those of the slowest. */
void nodes_part(struct builder *b, const struct call *call, const struct nodes *nodes,
                const char *option, enum collective_id collective, struct view source,
                struct view destination, int root);

/* Blocks of the ranks, put in the order of the nodes: place 0 of node 0, place 1 of node 0, ... */
struct view nodes_by_node(struct builder *b, const struct nodes *nodes, const struct view *view);
/* ... or of the places: place 0 of node 0, place 0 of node 1, ... Nodes of one size. */
struct view nodes_by_place(struct builder *b, const struct nodes *nodes, const struct view *view);

/* The options of composed algorithms. `set`: SERVES() of what the part must serve. */
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
        .help = "ranks of a node, or of each: 2+3, instead of the nodes there are"                 \
    }

/* For refuses(): why nodes of different sizes will not do; NULL: they are of one size. */
const char *nodes_uneven(const struct problem *problem, char *why, size_t size);

#endif
