/*
 * flows.c - flows through shared resources, each at its max-min fair rate.
 *
 * A flow has its own limit as its rate, or is bound by a resource: one that is full, and on which
 * no flow has more. That holds for all flows exactly if the rates are max-min fair. So a change
 * opens only flows that it may concern, and progressive filling gives them new rates while all
 * others keep theirs. It takes the resources in the order of their levels (what a resource has for
 * each of its flows that wants more than that), and opens further flows where it finds that they
 * are concerned:
 *
 *   - on the resource at hand, those that have more than its level;
 *   - where a flow gets less than before, those that are bound by its other resources.
 *
 * Both have at least the level at hand. So no level falls below it, and what is closed stays
 * closed. A resource that could serve all its flows at their own limits is full at no time.
 */
#include "predict/simulate/internal.h"

#include <math.h>
#include <stdlib.h>

#define NONE  UINT32_MAX
#define ALIKE 1e-12 /* rates that differ by less, relatively, are one: sums are rounded */

enum flow_state {
    FLOW_KEEPS, /* its rate */
    FLOW_OPEN,  /* it is to get a rate */
    FLOW_CLOSED /* it has got one since the last change */
};

struct fair_flow {
    double left, rate, most; /* bytes; bytes per us */
    double since;            /* us: `left` is of then */
    uint32_t tag, hops;
    uint32_t bound; /* the resource that it is bound by; NONE: its own limit */
    uint32_t next_free;
    enum flow_state state;
};

/* A flow on a resource. */
struct flow_hop {
    uint32_t resource;
    uint32_t place; /* in the resource's list */
};

/* A flow in the list of a resource: its hop there. */
struct flow_place {
    uint32_t flow, hop;
};

struct resource {
    double capacity; /* bytes per us */
    double most;     /* that all its flows together could have */
    double used;     /* by flows that are not open */
    struct flow_place *flows;
    uint32_t count, room;
    uint32_t open, bound; /* flows that are open, and that it binds */
    bool changed;
};

struct flows {
    struct resource *resources;
    struct fair_flow *flows;
    struct flow_hop *hops; /* hops_most of each flow */
    uint32_t resource_count, hops_most;
    uint32_t room, free;      /* flows; the first free one */
    struct index_heap ends;   /* flows by their end, us */
    struct index_heap levels; /* resources with open flows, by their level, or less */
    uint32_t *changed;        /* resources that a flow has left */
    uint32_t changed_count;
    uint32_t *opened; /* flows */
    uint32_t opened_count;
};

struct flows *flows_create(const double *capacities, uint32_t resources, uint32_t hops)
{
    struct flows *flows = calloc(1, sizeof *flows);
    if (!flows)
        return NULL;
    *flows =
        (struct flows){.resource_count = resources, .hops_most = hops > 0 ? hops : 1, .free = NONE};
    flows->resources = calloc((size_t)resources + 1, sizeof *flows->resources);
    flows->changed = calloc((size_t)resources + 1, sizeof *flows->changed);
    if (!flows->resources || !flows->changed ||
        !index_heap_reserve(&flows->levels, resources + 1)) {
        flows_free(flows);
        return NULL;
    }
    for (uint32_t i = 0; i < resources; i++)
        flows->resources[i].capacity = capacities[i];
    return flows;
}

void flows_free(struct flows *flows)
{
    if (!flows)
        return;
    for (uint32_t i = 0; flows->resources && i < flows->resource_count; i++)
        free(flows->resources[i].flows);
    index_heap_free(&flows->ends);
    index_heap_free(&flows->levels);
    free(flows->resources);
    free(flows->flows);
    free(flows->hops);
    free(flows->changed);
    free(flows->opened);
    free(flows);
}

/* Flows on resources. */

static bool flows_grow(struct flows *flows)
{
    uint32_t room = flows->room ? 2 * flows->room : 64;
    struct fair_flow *all = realloc(flows->flows, room * sizeof *all);
    if (all)
        flows->flows = all;
    struct flow_hop *hops = realloc(flows->hops, (size_t)room * flows->hops_most * sizeof *hops);
    if (hops)
        flows->hops = hops;
    uint32_t *opened = realloc(flows->opened, room * sizeof *opened);
    if (opened)
        flows->opened = opened;
    if (!all || !hops || !opened || !index_heap_reserve(&flows->ends, room))
        return false;
    for (uint32_t i = flows->room; i < room; i++)
        flows->flows[i] = (struct fair_flow){.next_free = i + 1 < room ? i + 1 : NONE};
    flows->free = flows->room;
    flows->room = room;
    return true;
}

static struct flow_hop *flow_hops(const struct flows *flows, uint32_t flow)
{
    return &flows->hops[(size_t)flow * flows->hops_most];
}

static bool resource_add(struct resource *resource, uint32_t flow, uint32_t hop, double most)
{
    if (resource->count == resource->room) {
        uint32_t room = resource->room ? 2 * resource->room : 4;
        struct flow_place *list = realloc(resource->flows, room * sizeof *list);
        if (!list)
            return false;
        resource->flows = list;
        resource->room = room;
    }
    resource->flows[resource->count++] = (struct flow_place){flow, hop};
    resource->most += most;
    return true;
}

static void resource_remove(struct flows *flows, uint32_t number, uint32_t place,
                            const struct fair_flow *flow)
{
    struct resource *resource = &flows->resources[number];
    const struct flow_place moved = resource->flows[--resource->count];
    resource->flows[place] = moved;
    flow_hops(flows, moved.flow)[moved.hop].place = place;
    resource->most = resource->count ? resource->most - flow->most : 0;
    resource->used = resource->count ? resource->used - flow->rate : 0;
    if (!resource->changed)
        flows->changed[flows->changed_count++] = number;
    resource->changed = true;
}

/* Can it ever be full, with its flows of now? */
static bool resource_binds(const struct resource *resource)
{
    return resource->most > resource->capacity * (1 + ALIKE * resource->count);
}

/* The rate that a resource has for each open flow. */
static double resource_share(const struct resource *resource)
{
    return fmax(resource->capacity - resource->used, 0) / resource->open;
}

/* A flow gives up its rate, to get another. */
static void flow_open(struct flows *flows, uint32_t number)
{
    struct fair_flow *flow = &flows->flows[number];
    const struct flow_hop *hops = flow_hops(flows, number);
    flow->state = FLOW_OPEN;
    flows->opened[flows->opened_count++] = number;
    if (flow->bound != NONE)
        flows->resources[flow->bound].bound--;
    flow->bound = NONE;
    for (uint32_t h = 0; h < flow->hops; h++) {
        struct resource *resource = &flows->resources[hops[h].resource];
        resource->used -= flow->rate;
        resource->open++;
        if (resource_binds(resource))
            index_heap_set(&flows->levels, hops[h].resource, resource_share(resource));
    }
}

/* Opens the flows that a resource binds. */
static void resource_release(struct flows *flows, const struct resource *resource, uint32_t number)
{
    for (uint32_t i = 0; i < resource->count && resource->bound > 0; i++) {
        const struct fair_flow *flow = &flows->flows[resource->flows[i].flow];
        if (flow->bound == number && flow->state == FLOW_KEEPS)
            flow_open(flows, resource->flows[i].flow);
    }
}

bool flows_start(struct flows *flows, double now, double bytes, double most,
                 const uint32_t *resources, uint32_t count, uint32_t tag)
{
    if (flows->free == NONE && !flows_grow(flows))
        return false;
    uint32_t number = flows->free;
    struct fair_flow *flow = &flows->flows[number];
    struct flow_hop *hops = flow_hops(flows, number);
    flows->free = flow->next_free;
    *flow = (struct fair_flow){
        .left = bytes, .most = most, .since = now, .tag = tag, .hops = count, .bound = NONE};
    for (uint32_t h = 0; h < count; h++) {
        struct resource *resource = &flows->resources[resources[h]];
        hops[h] = (struct flow_hop){resources[h], resource->count};
        if (!resource_add(resource, number, h, most))
            return false;
    }
    index_heap_set(&flows->ends, number, INFINITY);
    flow_open(flows, number);
    return true;
}

double flows_next(const struct flows *flows)
{
    return flows->ends.count ? flows->ends.key[flows->ends.items[0]] : INFINITY;
}

uint32_t flows_end(struct flows *flows)
{
    uint32_t number = flows->ends.items[0];
    struct fair_flow *flow = &flows->flows[number];
    const struct flow_hop *hops = flow_hops(flows, number);
    index_heap_remove(&flows->ends, number);
    if (flow->bound != NONE)
        flows->resources[flow->bound].bound--;
    for (uint32_t h = 0; h < flow->hops; h++)
        resource_remove(flows, hops[h].resource, hops[h].place, flow);
    flow->next_free = flows->free;
    flows->free = number;
    return flow->tag;
}

/* Rates. */

static void flow_run(struct flows *flows, uint32_t number, double rate, double now)
{
    struct fair_flow *flow = &flows->flows[number];
    flow->left = fmax(flow->left - flow->rate * (now - flow->since), 0);
    flow->since = now;
    flow->rate = rate;
    index_heap_set(&flows->ends, number, now + flow->left / rate);
}

/* A flow gets its rate: its own limit, or what `bound` has for it. */
static void flow_close(struct flows *flows, uint32_t number, double rate, uint32_t bound,
                       double now)
{
    struct fair_flow *flow = &flows->flows[number];
    const struct flow_hop *hops = flow_hops(flows, number);
    double before = flow->rate;
    flow->state = FLOW_CLOSED;
    flow->bound = bound;
    if (bound != NONE)
        flows->resources[bound].bound++;
    if (fabs(rate - before) > ALIKE * before)
        flow_run(flows, number, rate, now);
    for (uint32_t h = 0; h < flow->hops; h++) {
        struct resource *resource = &flows->resources[hops[h].resource];
        resource->used += flow->rate;
        resource->open--;
    }
    for (uint32_t h = 0; h < flow->hops && flow->rate < before; h++)
        if (hops[h].resource != bound)
            resource_release(flows, &flows->resources[hops[h].resource], hops[h].resource);
}

/* The rate that a resource has for each flow that wants more: its open flows, and those that keep
 * more than that. Infinity: there are none. */
static double resource_level(const struct flows *flows, const struct resource *resource)
{
    double level = 0;
    for (;;) {
        double used = 0, next;
        uint32_t sharing = 0;
        for (uint32_t i = 0; i < resource->count; i++) {
            const struct fair_flow *flow = &flows->flows[resource->flows[i].flow];
            bool shares = flow->state == FLOW_OPEN ||
                          (flow->state == FLOW_KEEPS && flow->rate > level * (1 + ALIKE));
            sharing += shares;
            used += shares ? 0 : flow->rate;
        }
        if (sharing == 0)
            return INFINITY;
        next = fmax(resource->capacity - used, 0) / sharing;
        if (next <= level * (1 + ALIKE))
            return level;
        level = next;
    }
}

/* Closes the open flows of a resource whose own limit is at most `level`. Returns how many. */
static uint32_t resource_close_limited(struct flows *flows, const struct resource *resource,
                                       double level, double now)
{
    uint32_t closed = 0;
    for (uint32_t i = 0; i < resource->count && resource->open > 0; i++) {
        uint32_t number = resource->flows[i].flow;
        const struct fair_flow *flow = &flows->flows[number];
        if (flow->state == FLOW_OPEN && flow->most <= level) {
            flow_close(flows, number, flow->most, NONE, now);
            closed++;
        }
    }
    return closed;
}

/* Closes the open flows of a resource, and those that have more, at its level. */
static void resource_close(struct flows *flows, uint32_t number, double level, double now)
{
    struct resource *resource = &flows->resources[number];
    for (uint32_t i = 0; i < resource->count; i++) {
        uint32_t member = resource->flows[i].flow;
        const struct fair_flow *flow = &flows->flows[member];
        if (flow->state == FLOW_KEEPS && flow->rate > level * (1 + ALIKE))
            flow_open(flows, member);
        if (flow->state == FLOW_OPEN)
            flow_close(flows, member, level, number, now);
    }
}

/* The resource that may have the lowest level: it gives its flows their rates, if it has. */
static void resource_fill(struct flows *flows, uint32_t number, double now)
{
    struct resource *resource = &flows->resources[number];
    double level = resource_level(flows, resource);
    if (level > flows->levels.key[number] * (1 + ALIKE) && level < INFINITY) {
        index_heap_set(&flows->levels, number, level);
        return;
    }
    if (level < INFINITY) {
        if (resource_close_limited(flows, resource, level, now) > 0)
            return; /* and it has more for the others */
        resource_close(flows, number, level, now);
    }
    if (resource->open == 0)
        index_heap_remove(&flows->levels, number);
}

void flows_settle(struct flows *flows, double now)
{
    for (uint32_t i = 0; i < flows->changed_count; i++) {
        struct resource *resource = &flows->resources[flows->changed[i]];
        resource->changed = false;
        resource_release(flows, resource, flows->changed[i]);
    }
    flows->changed_count = 0;
    while (flows->levels.count > 0)
        resource_fill(flows, flows->levels.items[0], now);
    for (uint32_t i = 0; i < flows->opened_count; i++) {
        struct fair_flow *flow = &flows->flows[flows->opened[i]];
        if (flow->state == FLOW_OPEN) /* nothing binds it */
            flow_close(flows, flows->opened[i], flow->most, NONE, now);
        flow->state = FLOW_KEEPS;
    }
    flows->opened_count = 0;
}
