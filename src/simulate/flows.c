/*
 * flows.c - flows through shared resources, each at its max-min fair rate.
 */
#include "simulate/flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define ALIKE (1 + 1e-9) /* shares that differ by less are one */

struct fair_flow {
    double left, rate, most; /* bytes; bytes per us */
    double since;            /* us: `left` is of then */
    double end;              /* us */
    uint32_t tag, hops;
    uint32_t at;   /* its place in the heap; of a free one: the next free one */
    uint32_t seen; /* the round of settling that has it */
};

/* A flow on a resource. */
struct flow_hop {
    uint32_t resource;
    uint32_t place; /* in the resource's list */
};

struct resource {
    double capacity, left; /* bytes per us; the part that no flow has yet */
    uint32_t *flows;       /* that cross it */
    uint32_t count, room;
    uint32_t open; /* flows whose rates still rise */
    uint32_t seen;
    bool changed;
};

struct flows {
    struct resource *resources;
    struct fair_flow *flows;
    struct flow_hop *hops; /* hops_most of each flow */
    uint32_t resource_count, hops_most;
    uint32_t room, free; /* flows; the first free one */
    uint32_t *heap;      /* flows by their end */
    uint32_t active;
    uint32_t *changed;    /* resources */
    uint32_t changed_count;
    uint32_t *component; /* resources */
    uint32_t *rising;    /* flows */
    uint32_t round;
};

struct flows *flows_create(const double *capacities, uint32_t resources, uint32_t hops)
{
    struct flows *flows = calloc(1, sizeof *flows);
    if (!flows)
        return NULL;
    *flows = (struct flows){.resource_count = resources, .hops_most = hops, .free = NONE};
    flows->resources = calloc((size_t)resources + 1, sizeof *flows->resources);
    flows->changed = calloc((size_t)resources + 1, sizeof *flows->changed);
    flows->component = calloc((size_t)resources + 1, sizeof *flows->component);
    if (!flows->resources || !flows->changed || !flows->component) {
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
    free(flows->resources);
    free(flows->flows);
    free(flows->hops);
    free(flows->heap);
    free(flows->changed);
    free(flows->component);
    free(flows->rising);
    free(flows);
}

/* The heap. */

static void heap_put(struct flows *flows, uint32_t at, uint32_t flow)
{
    flows->heap[at] = flow;
    flows->flows[flow].at = at;
}

static void heap_up(struct flows *flows, uint32_t at)
{
    uint32_t flow = flows->heap[at];
    double end = flows->flows[flow].end;
    while (at > 0 && flows->flows[flows->heap[(at - 1) / 2]].end > end) {
        heap_put(flows, at, flows->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(flows, at, flow);
}

static void heap_down(struct flows *flows, uint32_t at)
{
    uint32_t flow = flows->heap[at];
    double end = flows->flows[flow].end;
    for (uint32_t child; (child = 2 * at + 1) < flows->active; at = child) {
        if (child + 1 < flows->active && flows->flows[flows->heap[child + 1]].end <
                                             flows->flows[flows->heap[child]].end)
            child++;
        if (flows->flows[flows->heap[child]].end >= end)
            break;
        heap_put(flows, at, flows->heap[child]);
    }
    heap_put(flows, at, flow);
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
    uint32_t *heap = realloc(flows->heap, room * sizeof *heap);
    if (heap)
        flows->heap = heap;
    uint32_t *rising = realloc(flows->rising, room * sizeof *rising);
    if (rising)
        flows->rising = rising;
    if (!all || !hops || !heap || !rising)
        return false;
    for (uint32_t i = flows->room; i < room; i++)
        flows->flows[i] = (struct fair_flow){.at = i + 1 < room ? i + 1 : NONE};
    flows->free = flows->room;
    flows->room = room;
    return true;
}

static void resource_change(struct flows *flows, uint32_t resource)
{
    struct resource *changed = &flows->resources[resource];
    if (!changed->changed)
        flows->changed[flows->changed_count++] = resource;
    changed->changed = true;
}

static bool resource_add(struct flows *flows, uint32_t number, uint32_t flow, struct flow_hop *hop)
{
    struct resource *resource = &flows->resources[number];
    if (resource->count == resource->room) {
        uint32_t room = resource->room ? 2 * resource->room : 4;
        uint32_t *list = realloc(resource->flows, room * sizeof *list);
        if (!list)
            return false;
        resource->flows = list;
        resource->room = room;
    }
    *hop = (struct flow_hop){.resource = number, .place = resource->count};
    resource->flows[resource->count++] = flow;
    resource_change(flows, number);
    return true;
}

static void resource_remove(struct flows *flows, const struct flow_hop *hop)
{
    struct resource *resource = &flows->resources[hop->resource];
    uint32_t moved = resource->flows[--resource->count];
    resource->flows[hop->place] = moved;
    struct flow_hop *hops = &flows->hops[(size_t)moved * flows->hops_most];
    for (uint32_t h = 0; h < flows->flows[moved].hops; h++)
        if (hops[h].resource == hop->resource)
            hops[h].place = hop->place;
    resource_change(flows, hop->resource);
}

bool flows_start(struct flows *flows, double now, double bytes, double most,
                 const uint32_t *resources, uint32_t count, uint32_t tag)
{
    if (flows->free == NONE && !flows_grow(flows))
        return false;
    uint32_t flow = flows->free;
    struct fair_flow *it = &flows->flows[flow];
    flows->free = it->at;
    *it = (struct fair_flow){.left = bytes, .most = most, .since = now, .tag = tag, .hops = count};
    struct flow_hop *hops = &flows->hops[(size_t)flow * flows->hops_most];
    for (uint32_t h = 0; h < count; h++)
        if (!resource_add(flows, resources[h], flow, &hops[h]))
            return false;
    it->rate = count == 0 ? most : 0; /* else flows_settle() knows */
    it->end = it->rate > 0 ? now + bytes / it->rate : INFINITY;
    heap_put(flows, flows->active, flow);
    heap_up(flows, flows->active++);
    return true;
}

double flows_next(const struct flows *flows)
{
    return flows->active ? flows->flows[flows->heap[0]].end : INFINITY;
}

uint32_t flows_end(struct flows *flows)
{
    uint32_t flow = flows->heap[0];
    struct fair_flow *it = &flows->flows[flow];
    if (--flows->active > 0) {
        heap_put(flows, 0, flows->heap[flows->active]);
        heap_down(flows, 0);
    }
    for (uint32_t h = 0; h < it->hops; h++)
        resource_remove(flows, &flows->hops[(size_t)flow * flows->hops_most + h]);
    it->at = flows->free;
    flows->free = flow;
    return it->tag;
}

/* Rates. */

static void component_reach(struct flows *flows, uint32_t number, uint32_t *count)
{
    struct resource *resource = &flows->resources[number];
    if (resource->seen == flows->round)
        return;
    resource->seen = flows->round;
    resource->left = resource->capacity;
    resource->open = resource->count;
    flows->component[(*count)++] = number;
}

/* Finds all resources and flows that the changes concern. Returns how many flows; *resources. */
static uint32_t component_find(struct flows *flows, uint32_t *resources)
{
    uint32_t rising = 0, found = 0;
    flows->round++;
    for (uint32_t i = 0; i < flows->changed_count; i++) {
        flows->resources[flows->changed[i]].changed = false;
        component_reach(flows, flows->changed[i], &found);
    }
    flows->changed_count = 0;
    for (uint32_t i = 0; i < found; i++) { /* which grows meanwhile */
        const struct resource *resource = &flows->resources[flows->component[i]];
        for (uint32_t f = 0; f < resource->count; f++) {
            struct fair_flow *flow = &flows->flows[resource->flows[f]];
            if (flow->seen == flows->round)
                continue;
            flow->seen = flows->round;
            flows->rising[rising++] = resource->flows[f];
            const struct flow_hop *hops = &flows->hops[(size_t)resource->flows[f] * flows->hops_most];
            for (uint32_t h = 0; h < flow->hops; h++)
                component_reach(flows, hops[h].resource, &found);
        }
    }
    *resources = found;
    return rising;
}

/* The most that a rising flow may have: its own limit, and the share of its narrowest resource. */
static double flow_share(const struct flows *flows, uint32_t flow)
{
    const struct flow_hop *hops = &flows->hops[(size_t)flow * flows->hops_most];
    double share = flows->flows[flow].most;
    for (uint32_t h = 0; h < flows->flows[flow].hops; h++) {
        const struct resource *resource = &flows->resources[hops[h].resource];
        double part = resource->left / resource->open;
        share = part < share ? part : share;
    }
    return share;
}

static void flow_set(struct flows *flows, uint32_t number, double rate, double now)
{
    struct fair_flow *flow = &flows->flows[number];
    const struct flow_hop *hops = &flows->hops[(size_t)number * flows->hops_most];
    for (uint32_t h = 0; h < flow->hops; h++) {
        struct resource *resource = &flows->resources[hops[h].resource];
        resource->left = resource->left > rate ? resource->left - rate : 0;
        resource->open--;
    }
    if (rate == flow->rate)
        return;
    flow->left -= flow->rate * (now - flow->since);
    flow->left = flow->left > 0 ? flow->left : 0;
    flow->since = now;
    flow->rate = rate;
    flow->end = now + flow->left / rate;
    heap_up(flows, flow->at);
    heap_down(flows, flow->at);
}

void flows_settle(struct flows *flows, double now)
{
    if (flows->changed_count == 0)
        return;
    uint32_t resources, rising = component_find(flows, &resources);
    while (rising > 0) {
        double least = INFINITY;
        for (uint32_t i = 0; i < resources; i++) {
            const struct resource *resource = &flows->resources[flows->component[i]];
            if (resource->open > 0 && resource->left / resource->open < least)
                least = resource->left / resource->open;
        }
        for (uint32_t i = 0; i < rising; i++)
            if (flows->flows[flows->rising[i]].most < least)
                least = flows->flows[flows->rising[i]].most;
        /* Each flow is judged by the shares as they were when the rates reached `least`. */
        uint32_t stopped = rising;
        for (uint32_t i = 0; i < stopped;) {
            uint32_t flow = flows->rising[i];
            if (flow_share(flows, flow) <= least * ALIKE) {
                flows->rising[i] = flows->rising[--stopped];
                flows->rising[stopped] = flow;
            } else {
                i++;
            }
        }
        for (uint32_t i = stopped; i < rising; i++)
            flow_set(flows, flows->rising[i], least, now);
        rising = stopped;
    }
}
