/*
 * link_graph.c - links between vertices: the least cost (Dijkstra, "A note on two problems in connexion
 * with graphs", 1959), from each vertex to each that messages go to.
 */
#include "predict/topology/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* ---- building ---- */

int link_graph_add_vertex(struct link_graph *graph, const char *name)
{
    if (graph->vertices == graph->vertex_room) {
        int room = 2 * graph->vertex_room + 64;
        char **names = realloc(graph->names, (size_t)room * sizeof *names);
        if (!names)
            return -1;
        graph->names = names;
        graph->vertex_room = room;
    }
    graph->names[graph->vertices] = strdup(name);
    return graph->names[graph->vertices] ? graph->vertices++ : -1;
}

static bool edge_add(struct link_graph *graph, struct link_graph_edge edge)
{
    if (graph->edge_count == graph->edge_room) {
        uint32_t room = 2 * graph->edge_room + 64;
        struct link_graph_edge *edges = realloc(graph->edges, (size_t)room * sizeof *edges);
        if (!edges)
            return false;
        graph->edges = edges;
        graph->edge_room = room;
    }
    graph->edges[graph->edge_count++] = edge;
    return true;
}

bool link_graph_add_edges(struct link_graph *graph, int a, int b, double capacity,
                          double latency_us, uint32_t cost)
{
    struct link_graph_edge edge = {(uint32_t)a, (uint32_t)b, capacity, latency_us, cost};
    struct link_graph_edge back = {(uint32_t)b, (uint32_t)a, capacity, latency_us, cost};
    return edge_add(graph, edge) && edge_add(graph, back);
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

/* Equally cheap ways may have different lengths; no way has more links than its cost, nor than there
 * are vertices. */
static enum status ways_check(struct link_graph *graph, const bool *ends, const uint32_t *cost,
                              int target, const char *what)
{
    for (int v = 0; v < graph->vertices; v++) {
        if (!ends[v] || v == target)
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

static enum status ways_find(struct link_graph *graph, const bool *ends, const char *what)
{
    size_t vertices = (size_t)graph->vertices;
    uint32_t *cost = malloc((vertices + 1) * sizeof *cost);
    struct waiting heap = {malloc(((size_t)graph->edge_count + 1) * sizeof *heap.keys), 0};
    graph->hops = calloc(vertices * (size_t)graph->columns + 1, sizeof *graph->hops);
    enum status status = cost && heap.keys && graph->hops
                             ? STATUS_OK
                             : fail(STATUS_ERROR, "out of memory for the ways of %.200s", what);
    for (int v = 0; v < graph->vertices && status == STATUS_OK; v++)
        if (ends[v]) {
            costs_find(graph, v, cost, &heap);
            column_fill(graph, v, cost);
            status = ways_check(graph, ends, cost, v, what);
        }
    free(cost);
    free(heap.keys);
    return status;
}

enum status link_graph_finish(struct link_graph *graph, const bool *ends, const char *what)
{
    if (graph->vertices > GRAPH_VERTICES_MOST)
        return fail(STATUS_USAGE, "%.200s has %d switches or parts of a node, and %d are the most",
                    what, graph->vertices, GRAPH_VERTICES_MOST);
    graph->column = calloc((size_t)graph->vertices + 1, sizeof *graph->column);
    if (!graph->column)
        return fail(STATUS_ERROR, "out of memory for the topology of %.200s", what);
    for (int v = 0; v < graph->vertices; v++)
        graph->column[v] = ends[v] ? graph->columns++ : -1;
    TRY(edges_sort(graph, what));
    return ways_find(graph, ends, what);
}

void link_graph_free(struct link_graph *graph)
{
    for (int v = 0; v < graph->vertices; v++)
        free(graph->names[v]);
    free(graph->names);
    free(graph->edges);
    free(graph->first);
    free(graph->column);
    free(graph->hops);
    *graph = (struct link_graph){0};
}

void link_graph_route(const struct link_graph *graph, int from, int to, uint64_t pick,
                      uint32_t offset, struct topology_way *route)
{
    size_t column = (size_t)graph->column[to];
    for (int at = from; at != to;) {
        struct next_hop hop = graph->hops[(size_t)at * (size_t)graph->columns + column];
        uint32_t edge = graph->first[at] + hop.first + (uint32_t)(pick % hop.count);
        pick /= hop.count;
        route_add(route, offset + edge);
        at = (int)graph->edges[edge].to;
    }
}
