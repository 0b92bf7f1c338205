/*
 * mapped.h - a topology that a file describes: a graph, and the vertices at which its hosts or ends
 * sit. Its links are those from each host up, if hosts have ports, those down to each, and the edges
 * of the graph.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_MAPPED_H
#define CCTEST_PREDICT_TOPOLOGY_MAPPED_H

#include "predict/topology/link_graph.h"

struct mapped {
    struct link_graph graph;
    bool has_ports; /* hosts with a port each, of any number of ends; else ends of one host */
    int places;     /* hosts, or ends */
    int *vertex;    /* of each place */
    char **names;   /* of each place */
    double *port;   /* what each host's port carries */
};

/* An empty one, as t->shape. NULL: out of memory. */
struct mapped *mapped_create(struct topology *t);
/* Adds a place. False: out of memory. */
bool mapped_add_place(struct mapped *mapped, const char *name, int vertex, double port);
/* When all is added: fills what family->make() has to, but for the words. */
enum status mapped_finish(struct topology *t, const struct spec *spec);

/* The hooks of a family. */
void mapped_release(void *shape);
void mapped_route(const struct topology *t, int from, int to, struct topology_way *route);
double mapped_capacity(const struct topology *t, uint32_t link);
double mapped_latency(const struct topology *t, uint32_t link);
void mapped_name_link(const struct topology *t, uint32_t link, struct text *name);
void mapped_name_end(const struct topology *t, int end, struct text *name);

#define MAPPED_HOOKS                                                                               \
    .release = mapped_release, .route = mapped_route, .capacity = mapped_capacity,                 \
    .latency = mapped_latency, .name_link = mapped_name_link, .name_end = mapped_name_end

#endif
