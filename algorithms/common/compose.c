/*
 * compose.c - collectives of one kernel, or of two.
 */
#include "algorithms/common/common.h"

struct view view_apart(struct builder *b, const struct group *g, const struct view *like,
                       struct message own)
{
    struct view scratch = view_scratch(b, like);
    struct message *messages = message_array(b, like->blocks);
    for (int i = 0; messages && i < like->blocks; i++)
        messages[i] = i == g->rank ? own : view_block(&scratch, i);
    return (struct view){messages, messages ? like->blocks : 0};
}

void compose_reduce_scatter(struct builder *b, const struct call *call,
                            reduce_scatter_kernel *kernel)
{
    struct message own = view_all(b, &call->destination);
    struct view partial = view_apart(b, call->group, &call->source, own);
    if (call->group->size == 1)
        put_copy(b, call->group, own, view_block(&call->source, 0));
    else
        kernel(b, call->group, &call->source, &partial);
}

void compose_allgather(struct builder *b, const struct call *call, allgather_kernel *kernel)
{
    put_copy(b, call->group, view_block(&call->destination, call->group->rank),
             view_all(b, &call->source));
    kernel(b, call->group, &call->destination);
}

struct view compose_scatter_begin(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct message own = view_all(b, &call->destination);
    if (g->rank != call->root)
        return view_apart(b, g, &call->source, own);
    put_copy(b, g, own, view_block(&call->source, g->rank));
    return call->source;
}

void compose_scatter(struct builder *b, const struct call *call, scatter_kernel *kernel)
{
    struct view kept = compose_scatter_begin(b, call);
    kernel(b, call->group, call->root, &kept);
}

struct view compose_gather_begin(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct message own = view_all(b, &call->source);
    if (g->rank != call->root)
        return view_apart(b, g, &call->destination, own);
    put_copy(b, g, view_block(&call->destination, g->rank), own);
    return call->destination;
}

void compose_gather(struct builder *b, const struct call *call, gather_kernel *kernel)
{
    struct view kept = compose_gather_begin(b, call);
    kernel(b, call->group, call->root, &kept);
}

void compose_allreduce(struct builder *b, const struct call *call, reduce_scatter_kernel *first,
                       allgather_kernel *second)
{
    const struct group *g = call->group;
    struct view source = view_cut(b, &call->source, g->size);
    struct view destination = view_cut(b, &call->destination, g->size);
    if (g->size == 1)
        put_copy(b, g, view_all(b, &destination), view_all(b, &source));
    else
        first(b, g, &source, &destination);
    second(b, g, &destination);
}

void compose_broadcast(struct builder *b, const struct call *call, scatter_kernel *first,
                       allgather_kernel *second)
{
    const struct group *g = call->group;
    bool is_root = g->rank == call->root;
    struct view destination = view_cut(b, &call->destination, g->size);
    struct view source = is_root ? view_cut(b, &call->source, g->size) : destination;
    if (is_root)
        put_copy(b, g, view_block(&destination, g->rank), view_block(&source, g->rank));
    first(b, g, call->root, &source);
    second(b, g, &destination);
}

void compose_reduce(struct builder *b, const struct call *call, reduce_scatter_kernel *first,
                    gather_kernel *second)
{
    const struct group *g = call->group;
    struct view source = view_cut(b, &call->source, g->size);
    struct view partial =
        g->rank == call->root ? view_cut(b, &call->destination, g->size) : view_scratch(b, &source);
    if (g->size == 1)
        put_copy(b, g, view_all(b, &partial), view_all(b, &source));
    else
        first(b, g, &source, &partial);
    second(b, g, call->root, &partial);
}
