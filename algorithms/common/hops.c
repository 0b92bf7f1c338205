/*
 * hops.c - exchanges in a logarithmic number of steps for any number of ranks.
 */
#include "algorithms/common/common.h"

#include <string.h>

int circulant_hops(int p, struct hop hops[HOPS_MOST])
{
    int count = 0;
    for (int left = p; left > 1; left = hops[count++].reach) {
        int half = (left + 1) / 2;
        hops[count] = (struct hop){.reach = half, .stride = 1, .count = left - half};
    }
    return count;
}

/* The context of all functions here. */
struct hop_exchange {
    struct builder *b;
    const struct group *g;
    const struct route *route;
};

/* The rank `distance` ranks ahead of `rank`. */
static int rank_ahead(const struct hop_exchange *x, int rank, int distance)
{
    int ahead = (rank + x->route->direction * distance) % x->g->size;
    return ahead < 0 ? ahead + x->g->size : ahead;
}

/* Sorts block indices by where the blocks lie in memory. */
static void blocks_sort(const struct hop_exchange *x, int blocks[], int count)
{
    int p = x->g->size;
    int *order = index_array(x->b, p), *wanted = index_array(x->b, p);
    if (!order || !wanted)
        return;
    memset(wanted, 0, (size_t)p * sizeof *wanted);
    for (int i = 0; i < count; i++)
        wanted[blocks[i]] = 1;
    x->route->lay(p, order);
    for (int i = 0, n = 0; i < p; i++)
        if (wanted[order[i]])
            blocks[n++] = order[i];
}

/* Blocks of a view, named by their distances from a rank. */
struct distances {
    int count;
    int *items;
};

/* The blocks at these distances from `rank` as one message, ascending, so that neighbours are one
 * span. Sender and receiver name the same blocks, so both use this order. */
static struct message blocks_message(const struct hop_exchange *x, const struct view *view,
                                     int rank, struct distances distances)
{
    int count = distances.count, *blocks = index_array(x->b, count);
    if (!blocks)
        return (struct message){0};
    for (int i = 0; i < count; i++)
        blocks[x->route->direction > 0 ? i : count - 1 - i] =
            rank_ahead(x, rank, distances.items[i]);
    if (x->route->lay)
        blocks_sort(x, blocks, count);
    struct view selected = view_select(x->b, view, blocks, count);
    return view_all(x->b, &selected);
}

/* The blocks of one message of a hop. */
struct hop_part {
    struct distances sent; /* from the sender */
    struct distances met;  /* the same blocks, from the receiver */
};

/* The part of a hop from its block `first` on. */
static struct hop_part hop_part(const struct hop_exchange *x, const struct hop *hop, int first)
{
    int rest = hop->count - first, most = x->route->most;
    int count = most > 0 && most < rest ? most : rest;
    struct hop_part part = {.sent = {count, index_array(x->b, count)},
                            .met = {count, index_array(x->b, count)}};
    for (int i = 0; part.sent.items && part.met.items && i < count; i++) {
        part.met.items[i] = (first + i) * hop->stride;
        part.sent.items[i] = part.met.items[i] + hop->reach;
    }
    return part;
}

/* now[c] is block c as this rank has it: in the source, or in `partial` once something is combined
 * into it. */
static void hop_reduce(const struct hop_exchange *x, const struct hop *hop, struct message *now,
                       const struct view *partial)
{
    int own = x->g->rank;
    int ahead = rank_ahead(x, own, hop->reach), behind = rank_ahead(x, own, -hop->reach);
    struct view have = {now, x->g->size};
    for (int first = 0; first < hop->count;) {
        struct hop_part part = hop_part(x, hop, first);
        put_step(x->b, x->g);
        put_send(x->b, x->g, ahead, blocks_message(x, &have, own, part.sent));
        put_recv_reduce(x->b, x->g, behind, blocks_message(x, partial, own, part.met),
                        blocks_message(x, &have, own, part.met));
        first += part.met.count;
    }
    for (int i = 0; i < hop->count; i++) {
        int block = rank_ahead(x, own, i * hop->stride);
        now[block] = view_block(partial, block);
    }
}

/* Block r of the sources, combined, becomes `result` on rank r. partial->messages[c] is where block
 * c lies on its way. The last hop brings this rank's own block alone, and only that one goes to the
 * result: a target must not overlap a part of its own input. */
static void blocks_reduce(const struct hop_exchange *x, const struct view *source,
                          const struct view *partial, struct message result)
{
    struct hop hops[HOPS_MOST];
    int p = x->g->size, own = x->g->rank, count = x->route->hops(p, hops);
    struct message *now = message_array(x->b, p), *last = message_array(x->b, p);
    if (!now || !last)
        return;
    memcpy(now, source->messages, (size_t)p * sizeof *now);
    memcpy(last, partial->messages, (size_t)p * sizeof *last);
    last[own] = result;
    if (count == 0)
        put_copy(x->b, x->g, result, now[0]);
    for (int k = 0; k < count; k++)
        hop_reduce(x, &hops[k], now, k < count - 1 ? partial : &(struct view){last, p});
}

/* Before: rank r has block r of `all`. Afterwards every rank has all blocks. */
static void blocks_gather(const struct hop_exchange *x, const struct view *all)
{
    struct hop hops[HOPS_MOST];
    int own = x->g->rank;
    for (int k = x->route->hops(x->g->size, hops) - 1; k >= 0; k--) {
        int ahead = rank_ahead(x, own, hops[k].reach), behind = rank_ahead(x, own, -hops[k].reach);
        for (int first = 0; first < hops[k].count;) {
            struct hop_part part = hop_part(x, &hops[k], first);
            put_step(x->b, x->g);
            put_send(x->b, x->g, behind, blocks_message(x, all, own, part.met));
            put_recv(x->b, x->g, ahead, blocks_message(x, all, own, part.sent));
            first += part.met.count;
        }
    }
}

/* Does a block travel in a hop? The hops before leave no distance beyond its count. */
static bool hop_takes(const struct hop *hop, int distance)
{
    int beyond = distance - hop->reach;
    return beyond >= 0 && beyond % hop->stride == 0;
}

/* The blocks that rank root + holder sends ahead in hop k of a scatter, and gets back in that of a
 * gather, as distances from the root, where all start. */
static struct distances branch_blocks(const struct hop_exchange *x, const struct hop *hops, int k,
                                      int holder)
{
    int p = x->g->size;
    struct distances blocks = {0, index_array(x->b, p)};
    if (!blocks.items)
        return blocks;
    for (int distance = 1; distance < p; distance++) {
        int at = 0;
        for (int j = 0; j < k; j++)
            if (hop_takes(&hops[j], distance - at))
                at += hops[j].reach;
        if (at == holder && hop_takes(&hops[k], distance - at))
            blocks.items[blocks.count++] = distance;
    }
    return blocks;
}

/* Before: the root has all blocks of `kept`. Afterwards rank r has block r. A gather is the same
 * backwards. */
static void blocks_branch(const struct hop_exchange *x, int root, const struct view *kept,
                          bool gather)
{
    struct hop hops[HOPS_MOST];
    int p = x->g->size, count = x->route->hops(p, hops);
    int own = (x->route->direction * (x->g->rank - root) + p) % p; /* distance from the root */
    for (int i = 0; i < count; i++) {
        int k = gather ? count - 1 - i : i, reach = hops[k].reach;
        int ahead = rank_ahead(x, x->g->rank, reach), behind = rank_ahead(x, x->g->rank, -reach);
        struct message passed = blocks_message(x, kept, root, branch_blocks(x, hops, k, own));
        struct message got = blocks_message(x, kept, root, branch_blocks(x, hops, k, own - reach));
        put_step(x->b, x->g);
        if (gather) {
            put_recv(x->b, x->g, ahead, passed);
            put_send(x->b, x->g, behind, got);
        } else {
            put_recv(x->b, x->g, behind, got);
            put_send(x->b, x->g, ahead, passed);
        }
    }
}

/* The collectives. */

void route_reduce_scatter(struct builder *b, const struct call *call, const struct route *route)
{
    struct view partial = view_scratch(b, &call->source);
    blocks_reduce(&(struct hop_exchange){b, call->group, route}, &call->source, &partial,
                  view_all(b, &call->destination));
}

void route_allgather(struct builder *b, const struct call *call, const struct route *route)
{
    put_copy(b, call->group, view_block(&call->destination, call->group->rank),
             view_all(b, &call->source));
    blocks_gather(&(struct hop_exchange){b, call->group, route}, &call->destination);
}

void route_scatter(struct builder *b, const struct call *call, const struct route *route)
{
    struct view kept = compose_scatter_begin(b, call);
    blocks_branch(&(struct hop_exchange){b, call->group, route}, call->root, &kept, false);
}

void route_gather(struct builder *b, const struct call *call, const struct route *route)
{
    struct view kept = compose_gather_begin(b, call);
    blocks_branch(&(struct hop_exchange){b, call->group, route}, call->root, &kept, true);
}

/* `whole`, cut into a block for each rank. */
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
    blocks_reduce(&(struct hop_exchange){b, call->group, first}, &source, &all,
                  view_block(&all, g->rank));
    blocks_gather(&(struct hop_exchange){b, call->group, second}, &all);
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
    blocks_branch(&(struct hop_exchange){b, call->group, first}, call->root, &kept, false);
    blocks_gather(&(struct hop_exchange){b, call->group, second}, &all);
}

void route_reduce(struct builder *b, const struct call *call, const struct route *route)
{
    const struct group *g = call->group;
    bool is_root = g->rank == call->root;
    struct view source = route_cut(b, route, &call->source, g->size);
    struct view partial =
        is_root ? route_cut(b, route, &call->destination, g->size) : view_scratch(b, &source);
    blocks_reduce(&(struct hop_exchange){b, call->group, route}, &source, &partial,
                  view_block(&partial, g->rank));
    blocks_branch(&(struct hop_exchange){b, call->group, route}, call->root, &partial, true);
}
