/*
 * link_graph.c - a topology that a file describes. The ways are those of the least cost (Dijkstra,
 * "A note on two problems in connexion with graphs", 1959), from each vertex to each that messages
 * go to.
 */
#include "predict/topology/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

/* The links of hosts to their vertices, and the edges, each of which leads one way. */
enum graph_class { CLASS_PORT, CLASS_EDGE };

/* ---- building ---- */

struct link_graph *link_graph_create(struct topology *t)
{
    return t->shape = new_array(1, sizeof(struct link_graph));
}

int link_graph_add_vertex(struct link_graph *graph, const char *name)
{
    char *copy = strdup(name);
    if (!copy || !list_reserve(&graph->names, (size_t)graph->vertices, sizeof *graph->names)) {
        free(copy);
        return -1;
    }
    graph->names[graph->vertices] = copy;
    return graph->vertices++;
}

bool link_graph_add_place(struct link_graph *graph, const char *name, int vertex, double port)
{
    char *copy = strdup(name);
    if (!copy || !list_reserve(&graph->places, (size_t)graph->place_count, sizeof *graph->places)) {
        free(copy);
        return false;
    }
    graph->places[graph->place_count++] = (struct graph_place){copy, vertex, port};
    return true;
}

static bool edge_add(struct link_graph *graph, struct link_graph_edge edge)
{
    if (!list_reserve(&graph->edges, graph->edge_count, sizeof edge))
        return false;
    graph->edges[graph->edge_count++] = edge;
    return true;
}

bool link_graph_add_edges(struct link_graph *graph, int a, int b, double capacity, uint32_t cost)
{
    return edge_add(graph, (struct link_graph_edge){(uint32_t)a, (uint32_t)b, capacity, cost}) &&
           edge_add(graph, (struct link_graph_edge){(uint32_t)b, (uint32_t)a, capacity, cost});
}

static int edges_compare(const void *a, const void *b)
{
    const struct link_graph_edge *x = a, *y = b;
    return COMPARE(x->from, y->from) ?: COMPARE(x->to, y->to);
}

static enum status edges_sort(struct link_graph *graph, const char *what)
{
    size_t vertices = (size_t)graph->vertices;
    graph->first = calloc(vertices + 1, sizeof *graph->first);
    if (!graph->first)
        return fail(STATUS_ERROR, "out of memory for the topology of %.200s", what);
    if (graph->edge_count > 0)
        qsort(graph->edges, graph->edge_count, sizeof *graph->edges, edges_compare);
    for (uint32_t e = 0; e < graph->edge_count; e++)
        graph->first[graph->edges[e].from + 1]++;
    for (size_t v = 0; v < vertices; v++) {
        if (graph->first[v + 1] > UINT16_MAX)
            return fail(STATUS_USAGE, "%.200s: %.60s has %u links, and %d are the most", what,
                        graph->names[v], graph->first[v + 1], UINT16_MAX);
        graph->first[v + 1] += graph->first[v];
    }
    return STATUS_OK;
}

/* ---- ways ---- */

/* A binary heap of vertices by cost, in which a vertex may stand several times. */
struct waiting {
    uint64_t *keys; /* cost << 32 | vertex */
    size_t count;
};

static void waiting_add(struct waiting *heap, uint64_t key)
{
    size_t at = heap->count++;
    for (; at > 0 && heap->keys[(at - 1) / 2] > key; at = (at - 1) / 2)
        heap->keys[at] = heap->keys[(at - 1) / 2];
    heap->keys[at] = key;
}

static uint64_t waiting_take(struct waiting *heap)
{
    uint64_t least = heap->keys[0], last = heap->keys[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        child += child + 1 < heap->count && heap->keys[child + 1] < heap->keys[child];
        if (heap->keys[child] >= last)
            break;
        heap->keys[at] = heap->keys[child];
    }
    heap->keys[at] = last;
    return least;
}

/* The cost from each vertex to `target`; UINT32_MAX: no way. Links cost the same in both
 * directions. No way leads through another end: a GPU or a core passes nothing on. */
static void costs_find(const struct link_graph *graph, int target, uint32_t *cost,
                       struct waiting *heap)
{
    memset(cost, 0xff, (size_t)graph->vertices * sizeof *cost);
    cost[target] = 0;
    waiting_add(heap, (uint64_t)target);
    while (heap->count > 0) {
        uint64_t key = waiting_take(heap);
        uint32_t vertex = (uint32_t)key;
        bool passes = graph->column[vertex] < 0 || (int)vertex == target;
        if (cost[vertex] < key >> 32 || !passes)
            continue;
        for (uint32_t e = graph->first[vertex]; e < graph->first[vertex + 1]; e++) {
            const struct link_graph_edge *edge = &graph->edges[e];
            uint64_t through = (key >> 32) + edge->cost;
            if (through < cost[edge->to]) {
                cost[edge->to] = (uint32_t)through;
                waiting_add(heap, through << 32 | edge->to);
            }
        }
    }
}

/* The first run of edges that lie on a cheapest way. */
static struct next_hop hop_find(const struct link_graph *graph, int vertex, const uint32_t *cost)
{
    struct next_hop hop = {0, 0};
    uint32_t first = graph->first[vertex], count = graph->first[vertex + 1] - first;
    for (uint32_t i = 0; i < count; i++) {
        const struct link_graph_edge *edge = &graph->edges[first + i];
        bool passes = graph->column[edge->to] < 0 || cost[edge->to] == 0;
        bool good =
            passes && cost[edge->to] != UINT32_MAX && cost[vertex] == cost[edge->to] + edge->cost;
        if (good && hop.count++ == 0)
            hop.first = (uint16_t)i;
        else if (!good && hop.count > 0)
            break;
    }
    return hop;
}

static void column_fill(struct link_graph *graph, int target, const uint32_t *cost)
{
    for (int v = 0; v < graph->vertices; v++)
        if (v != target && cost[v] != UINT32_MAX)
            graph->hops[(size_t)v * (size_t)graph->columns + (size_t)graph->column[target]] =
                hop_find(graph, v, cost);
}

/* Links of a way; 0: there is none. */
static size_t way_length(const struct link_graph *graph, int from, int to)
{
    size_t length = 0;
    for (int at = from; at != to; length++) {
        struct next_hop hop =
            graph->hops[(size_t)at * (size_t)graph->columns + (size_t)graph->column[to]];
        if (hop.count == 0)
            return 0;
        at = (int)graph->edges[graph->first[at] + hop.first].to;
    }
    return length;
}

/* Equally cheap ways may have different lengths; no way has more links than its cost, nor than
 * there are vertices. */
static enum status ways_check(struct link_graph *graph, const uint32_t *cost, int target,
                              const char *what)
{
    for (int v = 0; v < graph->vertices; v++) {
        if (graph->column[v] < 0 || v == target)
            continue;
        if (way_length(graph, v, target) == 0)
            return fail(STATUS_USAGE,
                        "%.200s: there is no way from %.60s to %.60s: add the link "
                        "or the switch between them",
                        what, graph->names[v], graph->names[target]);
        size_t most = cost[v] < (uint32_t)graph->vertices ? cost[v] : (size_t)graph->vertices;
        graph->longest = most > graph->longest ? most : graph->longest;
    }
    return STATUS_OK;
}

static enum status ways_find(struct link_graph *graph, const char *what)
{
    size_t vertices = (size_t)graph->vertices;
    uint32_t *cost = malloc((vertices + 1) * sizeof *cost);
    struct waiting heap = {malloc(((size_t)graph->edge_count + 1) * sizeof *heap.keys), 0};
    graph->hops = calloc(vertices * (size_t)graph->columns + 1, sizeof *graph->hops);
    enum status status = cost && heap.keys && graph->hops
                             ? STATUS_OK
                             : fail(STATUS_ERROR, "out of memory for the ways of %.200s", what);
    for (int v = 0; v < graph->vertices && status == STATUS_OK; v++)
        if (graph->column[v] >= 0) {
            costs_find(graph, v, cost, &heap);
            column_fill(graph, v, cost);
            status = ways_check(graph, cost, v, what);
        }
    free(cost);
    free(heap.keys);
    return status;
}

/* A column for each vertex that has places. */
static enum status columns_find(struct link_graph *graph, const char *what)
{
    if (graph->vertices > GRAPH_VERTICES_MOST)
        return fail(STATUS_USAGE, "%.200s has %d switches or parts of a node, and %d are the most",
                    what, graph->vertices, GRAPH_VERTICES_MOST);
    graph->column = malloc(((size_t)graph->vertices + 1) * sizeof *graph->column);
    if (!graph->column)
        return fail(STATUS_ERROR, "out of memory for the topology of %.200s", what);
    for (int v = 0; v < graph->vertices; v++)
        graph->column[v] = -1;
    for (int p = 0; p < graph->place_count; p++) {
        int *column = &graph->column[graph->places[p].vertex];
        *column = *column < 0 ? graph->columns++ : *column;
    }
    return STATUS_OK;
}

enum status link_graph_finish(struct topology *t, const struct spec *spec)
{
    struct link_graph *graph = t->shape;
    if (!graph->has_ports && spec_given(spec, "ranks"))
        return spec_refuse(spec, "the places of a node are those of its file: leave ranks= out");
    TRY(columns_find(graph, spec->name));
    TRY(edges_sort(graph, spec->name));
    TRY(ways_find(graph, spec->name));
    *(graph->has_ports ? &t->hosts : &t->ranks) = graph->place_count;
    t->route_most = graph->longest + 3;
    links_add(t, graph->has_ports ? (uint64_t)graph->place_count : 0, 2, 0, 0);
    links_add(t, graph->edge_count, 1, 0, t->latency_us);
    return STATUS_OK;
}

/* ---- the hooks ---- */

void link_graph_release(void *shape)
{
    struct link_graph *graph = shape;
    for (int v = 0; v < graph->vertices; v++)
        free(graph->names[v]);
    for (int p = 0; p < graph->place_count; p++)
        free(graph->places[p].name);
    free(graph->names);
    free(graph->places);
    free(graph->edges);
    free(graph->first);
    free(graph->column);
    free(graph->hops);
    free(graph);
}

/* Between two vertices. */
static void edges_route(const struct topology *t, int at, int to, uint64_t pick,
                        struct topology_way *route)
{
    const struct link_graph *graph = t->shape;
    size_t column = (size_t)graph->column[to];
    while (at != to) {
        struct next_hop hop = graph->hops[(size_t)at * (size_t)graph->columns + column];
        uint32_t edge = graph->first[at] + hop.first + (uint32_t)(pick % hop.count);
        pick /= hop.count;
        route_add(route, link_up(t, CLASS_EDGE, edge));
        at = (int)graph->edges[edge].to;
    }
}

void link_graph_route(const struct topology *t, int from, int to, struct topology_way *route)
{
    const struct link_graph *graph = t->shape;
    if (graph->has_ports) {
        from /= t->ranks;
        to /= t->ranks;
    }
    if (from == to)
        return;
    if (graph->has_ports)
        route_add(route, link_up(t, CLASS_PORT, (uint32_t)from));
    edges_route(t, graph->places[from].vertex, graph->places[to].vertex, pair_hash(from, to),
                route);
    if (graph->has_ports)
        route_add(route, link_down(t, CLASS_PORT, (uint32_t)to));
}

double link_graph_capacity(const struct topology *t, int class, uint32_t number)
{
    const struct link_graph *graph = t->shape;
    return class == CLASS_PORT ? graph->places[number].port : graph->edges[number].capacity;
}

void link_graph_name_link(const struct topology *t, int class, uint32_t number, struct text *below,
                          struct text *above)
{
    const struct link_graph *graph = t->shape;
    bool port = class == CLASS_PORT;
    const struct graph_place *place = &graph->places[port ? number : 0];
    const struct link_graph_edge *edge = &graph->edges[port ? 0 : number];
    text_add(below, "%.40s", port ? place->name : graph->names[edge->from]);
    text_add(above, "%.40s", graph->names[port ? (uint32_t)place->vertex : edge->to]);
}

void link_graph_name_end(const struct topology *t, int end, struct text *name)
{
    const struct link_graph *graph = t->shape;
    text_add(name, "%.60s", graph->places[graph->has_ports ? end / t->ranks : end].name);
    if (graph->has_ports && t->ranks > 1)
        text_add(name, " rank %d", end % t->ranks);
}
