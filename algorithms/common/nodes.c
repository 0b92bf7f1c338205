/*
 * nodes.c - the groups of a hierarchical algorithm.
 */
#include "algorithms/common/nodes.h"

#include <stdio.h>

struct group nodes_group(struct builder *b, const struct group *g, const struct nodes *nodes,
                         int node)
{
    const struct shape *shape = nodes->shape;
    return group_part(b, g, shape->members + shape->start[node], shape_size(shape, node));
}

struct nodes nodes_of(struct builder *b, const struct call *call)
{
    const struct shape *shape = call->problem->shape;
    int rank = call->group->rank, node = shape->group[rank];
    struct nodes nodes = {.shape = shape,
                          .count = shape->groups,
                          .each = shape_size(shape, node),
                          .node = node,
                          .local_rank = shape->local_rank[rank]};
    nodes.own = nodes_group(b, call->group, &nodes, node);
    return nodes;
}

int nodes_rail_place(const struct nodes *nodes, int node, int place)
{
    int size = shape_size(nodes->shape, node), last = size - 1;
    if (place == DIAGONAL)
        return last - node % size;
    return place < last ? place : last;
}

struct group nodes_rail(struct builder *b, const struct group *g, const struct nodes *nodes,
                        int place)
{
    int *ranks = index_array(b, nodes->count);
    for (int a = 0; ranks && a < nodes->count; a++)
        ranks[a] = shape_rank(nodes->shape, a, nodes_rail_place(nodes, a, place));
    return group_part(b, g, ranks, ranks ? nodes->count : 0);
}

void nodes_part(struct builder *b, const struct call *call, const struct nodes *nodes,
                const char *option, enum collective_id collective, struct view source,
                struct view destination, int root)
{
    struct group begin = group_beside(b, call->group);
    int lanes = builder_lanes(b), most = lanes;
    for (int a = 0; a < nodes->count; a++) {
        if (nodes->shape->uniform && a != nodes->node)
            continue;
        builder_set_lanes(b, lanes); /* nodes have no ranks in common */
        struct group beside = group_beside(b, &begin);
        struct group node = nodes_group(b, &beside, nodes, a);
        call_part(b, call, option, collective, &node, source, destination,
                  nodes_rail_place(nodes, a, root));
        group_join(b, call->group, &beside);
        most = builder_lanes(b) > most ? builder_lanes(b) : most;
    }
    builder_set_lanes(b, most);
}

struct view nodes_by_node(struct builder *b, const struct nodes *nodes, const struct view *view)
{
    return view_select(b, view, nodes->shape->members, nodes->shape->ranks);
}

struct view nodes_by_place(struct builder *b, const struct nodes *nodes, const struct view *view)
{
    int ranks = nodes->shape->ranks;
    int *order = index_array(b, ranks);
    for (int i = 0; order && i < ranks; i++)
        order[i] = shape_rank(nodes->shape, i % nodes->count, i / nodes->count);
    return view_select(b, view, order, order ? ranks : 0);
}

/* What serves groups of different sizes instead. */
static const char *uneven_remedy(enum collective_id collective)
{
    switch (collective) {
    case COLLECTIVE_ALLTOALL:
    case COLLECTIVE_ALLTOALLV:
        return "fullmesh or pairwise";
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
        return "hier-leader";
    case COLLECTIVE_SCATTER:
    case COLLECTIVE_SCATTERV:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_GATHERV:
        return "binomial";
    default:
        return "ahc";
    }
}

const char *nodes_uneven(const struct problem *problem, char *why, size_t size)
{
    const struct shape *shape = problem->shape;
    if (shape->uniform)
        return NULL;
    int least = shape_size(shape, 0), most = least;
    for (int a = 1; a < shape->groups; a++) {
        int here = shape_size(shape, a);
        least = here < least ? here : least;
        most = here > most ? here : most;
    }
    snprintf(why, size,
             "it needs groups of one size, and these have from %d to %d ranks: use %s, which "
             "takes any",
             least, most, uneven_remedy(problem->collective->id));
    return why;
}
