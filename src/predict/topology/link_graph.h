/*
 * link_graph.h - links between vertices, and the ways between them by a table: of topologies that no
 * formula describes.
 *
 * A way is one of the least cost, the sum of its links' costs, and leads through no end. Of several next links that lie on such
 * ways and have consecutive numbers, the pair's hash takes one.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_LINK_GRAPH_H
#define CCTEST_PREDICT_TOPOLOGY_LINK_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "predict/topology/family.h"

#define GRAPH_VERTICES_MOST 8192 /* the table grows with their square */

struct link_graph_edge {
    uint32_t from, to;
    double capacity, latency_us;
    uint32_t cost;
};

/* Zeroed is an empty one. */
struct link_graph {
    int vertices, vertex_room;
    char **names;                  /* of vertices */
    struct link_graph_edge *edges; /* after link_graph_finish() by `from`, then `to` */
    uint32_t edge_count, edge_room;
    uint32_t *first; /* vertices + 1: the edges of each */
    int *column;     /* of each vertex, in the table; -1: no message ends there */
    int columns;
    struct next_hop *hops; /* [vertex][column] */
    size_t longest;        /* links of the longest way */
};

struct next_hop {
    uint16_t first, count; /* among the vertex's edges; count 0: no way */
};

/* The number of a new vertex; -1: out of memory. The name is copied. */
int link_graph_add_vertex(struct link_graph *graph, const char *name);
/* A link in each direction; cost 1 at least. False: out of memory. */
bool link_graph_add_edges(struct link_graph *graph, int a, int b, double capacity,
                          double latency_us, uint32_t cost);

/* When all are added: finds the ways to each vertex for which `ends` is true. STATUS_USAGE, `what`
 * being the file, if a vertex of them is out of reach for another or the graph is too large. */
enum status link_graph_finish(struct link_graph *graph, const bool *ends, const char *what);
void link_graph_free(struct link_graph *graph);

/* Adds the edges of the way, `offset` being the number of edge 0. `to` is one of `ends`. */
void link_graph_route(const struct link_graph *graph, int from, int to, uint64_t pick,
                      uint32_t offset, struct topology_way *route);

#endif
