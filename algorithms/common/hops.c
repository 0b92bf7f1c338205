/*
 * hops.c - the exchanges of a logarithmic number of steps that need no power of two.
 */
#include "algorithms/common/hops.h"

#include <string.h>

#include "algorithms/common/compose.h"

/* The rank `distance` places ahead of `rank`. */
static int rank_ahead(const struct group *g, const struct route *route, int rank, int distance)
{
    int ahead = (rank + route->direction * distance) % g->size;
    return ahead < 0 ? ahead + g->size : ahead;
}

/* Puts block indices into the order in which the blocks lie. */
static void blocks_lay(struct builder *b, const struct route *route, int blocks[], int count, int p)
{
    int *order = index_array(b, p), *wanted = index_array(b, p);
    if (!order || !wanted)
        return;
    memset(wanted, 0, (size_t)p * sizeof *wanted);
    for (int i = 0; i < count; i++)
        wanted[blocks[i]] = 1;
    route->lay(p, order);
    for (int i = 0, n = 0; i < p; i++)
        if (wanted[order[i]])
            blocks[n++] = order[i];
}

/* The blocks at `distances` from `rank` as one message, ascending, so that neighbours are one span.
 * Those who send it and those who receive it name the same blocks, so both have this order. */
static struct message route_message(struct builder *b, const struct group *g,
                                    const struct route *route, const struct view *view, int rank,
                                    const int *distances, int count)
{
    int *blocks = index_array(b, count);
    if (!blocks)
        return (struct message){0};
    for (int i = 0; i < count; i++)
        blocks[route->direction > 0 ? i : count - 1 - i] = rank_ahead(g, route, rank, distances[i]);
    if (route->lay)
        blocks_lay(b, route, blocks, count, g->size);
    struct view selected = view_select(b, view, blocks, count);
    return view_all(b, &selected);
}

/* What one message of a hop carries, as distances from the two ranks. */
struct piece {
    int count;
    int *sent, *met; /* from the rank that sends it, and from the one that it goes to */
};

/* The piece of a hop from its block `first` on. */
static struct piece hop_piece(struct builder *b, const struct route *route, const struct hop *hop,
                              int first)
{
    int rest = hop->count - first;
    struct piece piece = {.count = route->most > 0 && route->most < rest ? route->most : rest};
    piece.sent = index_array(b, piece.count);
    piece.met = index_array(b, piece.count);
    for (int i = 0; piece.sent && piece.met && i < piece.count; i++) {
        piece.met[i] = (first + i) * hop->stride;
        piece.sent[i] = piece.met[i] + hop->reach;
    }
    return piece;
}

/* now[c] is block c as this rank has it: as in the source, until something was combined into its
 * partial result. */
static void hop_reduce(struct builder *b, const struct group *g, const struct route *route,
                       const struct hop *hop, struct message *now, const struct view *partial)
{
    int ahead = rank_ahead(g, route, g->rank, hop->reach);
    int behind = rank_ahead(g, route, g->rank, -hop->reach);
    struct view have = {now, g->size};
    for (int first = 0; first < hop->count;) {
        struct piece piece = hop_piece(b, route, hop, first);
        put_step(b, g);
        put_send(b, g, ahead, route_message(b, g, route, &have, g->rank, piece.sent, piece.count));
        put_recv_reduce(b, g, behind,
                        route_message(b, g, route, partial, g->rank, piece.met, piece.count),
                        route_message(b, g, route, &have, g->rank, piece.met, piece.count));
        first += piece.count;
    }
    for (int i = 0; i < hop->count; i++) {
        int block = rank_ahead(g, route, g->rank, i * hop->stride);
        now[block] = view_block(partial, block);
    }
}

/* Block r of the sources, combined, becomes `result` on rank r. partial->messages[c] is where block
 * c lies while it passes. The last hop brings the own block alone: only that goes to the result,
 * since a target that was in part its own input would be no good. */
static void blocks_reduce(struct builder *b, const struct group *g, const struct route *route,
                          const struct view *source, const struct view *partial,
                          struct message result)
{
    struct hop hops[HOPS_MOST];
    int count = route->hops(g->size, hops);
    struct message *now = message_array(b, g->size), *last = message_array(b, g->size);
    if (!now || !last)
        return;
    memcpy(now, source->messages, (size_t)g->size * sizeof *now);
    memcpy(last, partial->messages, (size_t)g->size * sizeof *last);
    last[g->rank] = result;
    if (count == 0)
        put_copy(b, g, result, now[0]);
    for (int k = 0; k < count; k++)
        hop_reduce(b, g, route, &hops[k], now,
                   k < count - 1 ? partial : &(struct view){last, g->size});
}

/* Block r of `all` is there on rank r. Then all are there on all ranks. */
static void blocks_gather(struct builder *b, const struct group *g, const struct route *route,
                          const struct view *all)
{
    struct hop hops[HOPS_MOST];
    for (int k = route->hops(g->size, hops) - 1; k >= 0; k--) {
        int ahead = rank_ahead(g, route, g->rank, hops[k].reach);
        int behind = rank_ahead(g, route, g->rank, -hops[k].reach);
        for (int first = 0; first < hops[k].count;) {
            struct piece piece = hop_piece(b, route, &hops[k], first);
            put_step(b, g);
            put_send(b, g, behind,
                     route_message(b, g, route, all, g->rank, piece.met, piece.count));
            put_recv(b, g, ahead,
                     route_message(b, g, route, all, g->rank, piece.sent, piece.count));
            first += piece.count;
        }
    }
}

/* Does a block travel in a hop? Those that the hops before have left are never beyond its count. */
static bool hop_takes(const struct hop *hop, int distance)
{
    int beyond = distance - hop->reach;
    return beyond >= 0 && beyond % hop->stride == 0;
}

/* The blocks that leave the rank `holder` places ahead of the root in hop k of a scatter, as
 * distances from the root, where all start. */
static int branch_blocks(const struct hop *hops, int k, int p, int holder, int distances[])
{
    int count = 0;
    for (int distance = 1; distance < p; distance++) {
        int at = 0;
        for (int j = 0; j < k; j++)
            if (hop_takes(&hops[j], distance - at))
                at += hops[j].reach;
        if (at == holder && hop_takes(&hops[k], distance - at))
            distances[count++] = distance;
    }
    return count;
}

/* The blocks that cross from `holder` to the rank ahead of it in hop k of a scatter, and back in
 * that of a gather. */
static struct message branch_message(struct builder *b, const struct group *g,
                                     const struct route *route, int root, const struct view *kept,
                                     const struct hop *hops, int k, int holder)
{
    int *distances = index_array(b, g->size);
    if (!distances)
        return (struct message){0};
    int count = branch_blocks(hops, k, g->size, holder, distances);
    return route_message(b, g, route, kept, root, distances, count);
}

/* The root has all blocks of `kept`; then rank r has block r. Gathering is the same backwards. */
static void blocks_branch(struct builder *b, const struct group *g, const struct route *route,
                          int root, const struct view *kept, bool gather)
{
    struct hop hops[HOPS_MOST];
    int p = g->size, count = route->hops(p, hops);
    int own = (route->direction * (g->rank - root) + p) % p; /* places ahead of the root */
    for (int i = 0; i < count; i++) {
        int k = gather ? count - 1 - i : i, reach = hops[k].reach;
        int ahead = rank_ahead(g, route, g->rank, reach);
        int behind = rank_ahead(g, route, g->rank, -reach);
        struct message passed = branch_message(b, g, route, root, kept, hops, k, own);
        struct message got = branch_message(b, g, route, root, kept, hops, k, own - reach);
        put_step(b, g);
        if (gather) {
            put_recv(b, g, ahead, passed);
            put_send(b, g, behind, got);
        } else {
            put_recv(b, g, behind, got);
            put_send(b, g, ahead, passed);
        }
    }
}

/* The collectives. */

void route_reduce_scatter(struct builder *b, const struct call *call, const struct route *route)
{
    struct view partial = view_scratch(b, &call->source);
    blocks_reduce(b, call->group, route, &call->source, &partial, view_all(b, &call->destination));
}

void route_allgather(struct builder *b, const struct call *call, const struct route *route)
{
    put_copy(b, call->group, view_block(&call->destination, call->group->rank),
             view_all(b, &call->source));
    blocks_gather(b, call->group, route, &call->destination);
}

void route_scatter(struct builder *b, const struct call *call, const struct route *route)
{
    struct view kept = compose_scatter_begin(b, call);
    blocks_branch(b, call->group, route, call->root, &kept, false);
}

void route_gather(struct builder *b, const struct call *call, const struct route *route)
{
    struct view kept = compose_gather_begin(b, call);
    blocks_branch(b, call->group, route, call->root, &kept, true);
}

/* All of `whole`, cut into a block for each rank. */
static struct view route_cut(struct builder *b, const struct route *route, const struct view *whole,
                             int p)
{
    struct view slices = view_cut(b, whole, p);
    int *order = index_array(b, p), *slice = index_array(b, p);
    if (!route->lay || !order || !slice)
        return slices;
    route->lay(p, order);
    for (int i = 0; i < p; i++)
        slice[order[i]] = i;
    return view_select(b, &slices, slice, p);
}

void route_allreduce(struct builder *b, const struct call *call, const struct route *first,
                     const struct route *second)
{
    const struct group *g = call->group;
    struct view source = route_cut(b, first, &call->source, g->size);
    struct view all = route_cut(b, first, &call->destination, g->size);
    blocks_reduce(b, g, first, &source, &all, view_block(&all, g->rank));
    blocks_gather(b, g, second, &all);
}

void route_broadcast(struct builder *b, const struct call *call, const struct route *first,
                     const struct route *second)
{
    const struct group *g = call->group;
    struct view all = route_cut(b, first, &call->destination, g->size);
    struct view kept = all;
    if (g->rank == call->root) {
        kept = route_cut(b, first, &call->source, g->size);
        put_copy(b, g, view_block(&all, g->rank), view_block(&kept, g->rank));
    }
    blocks_branch(b, g, first, call->root, &kept, false);
    blocks_gather(b, g, second, &all);
}

void route_reduce(struct builder *b, const struct call *call, const struct route *route)
{
    const struct group *g = call->group;
    bool is_root = g->rank == call->root;
    struct view source = route_cut(b, route, &call->source, g->size);
    struct view partial =
        is_root ? route_cut(b, route, &call->destination, g->size) : view_scratch(b, &source);
    blocks_reduce(b, g, route, &source, &partial, view_block(&partial, g->rank));
    blocks_branch(b, g, route, call->root, &partial, true);
}
