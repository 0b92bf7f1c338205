/*
 * order_graph.h - a graph for the tests of waits: which element of an operation comes before which,
 * over all ranks.
 */
#ifndef CCTEST_TEST_ORDER_GRAPH_H
#define CCTEST_TEST_ORDER_GRAPH_H

#include "schedules.h"

#include <stdlib.h>

struct graph {
    uint32_t nodes;
    uint32_t *head; /* per node: its first edge; NONE: no more */
    struct edge {
        uint32_t to, next;
    } * edges;
    uint32_t count, room;
    unsigned char *seen;
    uint32_t *stack;
};
#define NONE UINT32_MAX

static inline void graph_open(struct graph *graph, uint32_t nodes)
{
    *graph = (struct graph){.nodes = nodes,
                            .head = malloc(nodes * sizeof(uint32_t)),
                            .seen = malloc(nodes),
                            .stack = malloc(nodes * sizeof(uint32_t))};
    assert_true(graph->head && graph->seen && graph->stack);
    memset(graph->head, 0xff, nodes * sizeof(uint32_t));
}

static inline void graph_close(struct graph *graph)
{
    free(graph->head);
    free(graph->edges);
    free(graph->seen);
    free(graph->stack);
}

static inline void graph_add(struct graph *graph, uint32_t before, uint32_t after)
{
    if (graph->count == graph->room) {
        graph->room = graph->room ? 2 * graph->room : 1024;
        graph->edges = realloc(graph->edges, graph->room * sizeof(*graph->edges));
        assert_non_null(graph->edges);
    }
    graph->edges[graph->count] = (struct edge){.to = after, .next = graph->head[before]};
    graph->head[before] = graph->count++;
}

/* Is `before` before `after`, without the `without` edges from `without_first` on? */
static inline bool graph_orders(struct graph *graph, uint32_t before, uint32_t after,
                                uint32_t without_first, size_t without)
{
    uint32_t depth = 0;

    memset(graph->seen, 0, graph->nodes);
    graph->stack[depth++] = before;
    while (depth > 0) {
        uint32_t node = graph->stack[--depth];

        if (node == after)
            return true;
        for (uint32_t i = graph->head[node]; i != NONE; i = graph->edges[i].next) {
            uint32_t to = graph->edges[i].to;

            if (!graph->seen[to] && !(i >= without_first && i - without_first < without)) {
                graph->seen[to] = 1;
                graph->stack[depth++] = to;
            }
        }
    }
    return false;
}

#define OPERATIONS_MOST 256

/* The node of element 0 of each operation. */
struct places {
    uint32_t of[RANKS_MOST][OPERATIONS_MOST];
};

static inline uint32_t places_number(struct places *places, const struct program *program)
{
    uint32_t nodes = 0;

    for (int r = 0; r < program->ranks; r++) {
        const struct schedule *schedule = program->schedules[r];

        assert_true(schedule->count <= OPERATIONS_MOST);
        for (size_t i = 0; i < schedule->count; i++) {
            places->of[r][i] = nodes;
            nodes += (uint32_t)schedule->operations[i].length;
        }
    }
    return nodes;
}

static inline void add_ascent(struct graph *graph, const struct operation *operation,
                              uint32_t place)
{
    for (size_t k = 0; k + 1 < operation->length; k++)
        graph_add(graph, place + (uint32_t)k, place + (uint32_t)k + 1);
}

static inline void add_waits(struct graph *graph, const struct places *places, int rank,
                             const struct operation *operation, uint32_t place)
{
    for (size_t w = 0; w < operation->wait_count; w++) {
        const struct wait *wait = &operation->waits[w];

        for (size_t k = 0; k < wait->length; k++)
            graph_add(graph, places->of[rank][wait->operation] + (uint32_t)(wait->past + k),
                      place + (uint32_t)(wait->at + k));
    }
}

#endif
