/*
 * nodes.c - the groups of a hierarchical algorithm.
 */
#include "algorithms/common/common.h"

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

/* The local rank of the member that node `node` gives to that rail. */
static int nodes_rail_member(const struct nodes *nodes, int node, int local_rank)
{
    int size = shape_size(nodes->shape, node), last = size - 1;
    if (local_rank == DIAGONAL)
        return last - node % size;
    return local_rank < last ? local_rank : last;
}

struct group nodes_rail(struct builder *b, const struct group *g, const struct nodes *nodes,
                        int local_rank)
{
    int *ranks = index_array(b, nodes->count);
    for (int a = 0; ranks && a < nodes->count; a++)
        ranks[a] = shape_rank(nodes->shape, a, nodes_rail_member(nodes, a, local_rank));
    return group_part(b, g, ranks, ranks ? nodes->count : 0);
}

void nodes_part(struct builder *b, const struct call *call, const struct nodes *nodes,
                const char *option, enum collective_id collective, const struct call *part)
{
    struct group begin = group_beside(b, call->group);
    int lanes = builder_lanes(b), most = lanes;
    for (int a = 0; a < nodes->count; a++) {
        if (nodes->shape->uniform && a != nodes->node)
            continue;
        builder_set_lanes(b, lanes); /* nodes have no ranks in common */
        struct group beside = group_beside(b, &begin);
        struct group node = nodes_group(b, &beside, nodes, a);
        struct call here = *part;
        here.group = &node;
        here.root = nodes_rail_member(nodes, a, part->root);
        call_part(b, call, option, collective, &here);
        group_join(b, call->group, &beside);
        most = builder_lanes(b) > most ? builder_lanes(b) : most;
    }
    builder_set_lanes(b, most);
}

struct view nodes_by_node(struct builder *b, const struct nodes *nodes, const struct view *view)
{
    return view_select(b, view, nodes->shape->members, nodes->shape->ranks);
}

struct view nodes_by_local_rank(struct builder *b, const struct nodes *nodes,
                                const struct view *view)
{
    int ranks = nodes->shape->ranks;
    int *order = index_array(b, ranks);
    for (int i = 0; order && i < ranks; i++)
        order[i] = shape_rank(nodes->shape, i % nodes->count, i / nodes->count);
    return view_select(b, view, order, order ? ranks : 0);
}

const char *nodes_parts_refuse(const struct problem *problem, const struct choice *choice,
                               char *why, size_t size)
{
    const struct shape *shape = problem->shape;
    const char *refusal = part_refuses(choice, "inter", shape->groups, why, size);
    for (int a = 0; !refusal && a < shape->groups; a++)
        refusal = part_refuses(choice, "intra", shape_size(shape, a), why, size);
    return refusal;
}

/* The algorithms that serve groups of different sizes. */
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
             "takes any sizes",
             least, most, uneven_remedy(problem->collective->id));
    return why;
}
