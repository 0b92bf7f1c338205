/*
 * mapped.c - a topology that a file describes.
 */
#include "predict/topology/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

struct mapped *mapped_create(struct topology *t)
{
    return t->shape = calloc(1, sizeof(struct mapped));
}

/* Arrays grow when their length is a power of two. */
static bool places_grow(struct mapped *mapped)
{
    size_t count = (size_t)mapped->places, room = count ? 2 * count : 64;
    if (count != 0 && (count < 64 || (count & (count - 1)) != 0))
        return true;
    int *vertex = realloc(mapped->vertex, room * sizeof *vertex);
    mapped->vertex = vertex ? vertex : mapped->vertex;
    char **names = realloc(mapped->names, room * sizeof *names);
    mapped->names = names ? names : mapped->names;
    double *port = realloc(mapped->port, room * sizeof *port);
    mapped->port = port ? port : mapped->port;
    return vertex && names && port;
}

bool mapped_add_place(struct mapped *mapped, const char *name, int vertex, double port)
{
    if (!places_grow(mapped))
        return false;
    char *copy = strdup(name);
    mapped->vertex[mapped->places] = vertex;
    mapped->port[mapped->places] = port;
    mapped->names[mapped->places] = copy;
    mapped->places += copy != NULL;
    return copy;
}

static uint32_t port_links(const struct mapped *mapped)
{
    return mapped->has_ports ? 2 * (uint32_t)mapped->places : 0;
}

enum status mapped_finish(struct topology *t, const struct spec *spec)
{
    struct mapped *mapped = t->shape;
    if (!mapped->has_ports && spec_given(spec, "ranks"))
        return spec_refuse(spec, "the places of a node are those of its file: leave ranks= out");
    bool *ends = calloc((size_t)mapped->graph.vertices + 1, sizeof *ends);
    if (!ends)
        return fail(STATUS_ERROR, "out of memory for the topology of %.200s", spec->name);
    for (int p = 0; p < mapped->places; p++)
        ends[mapped->vertex[p]] = true;
    enum status status = link_graph_finish(&mapped->graph, ends, spec->name);
    free(ends);
    if (mapped->has_ports)
        t->hosts = mapped->places;
    else
        t->ranks = mapped->places;
    t->route_most = mapped->graph.longest + 3;
    return status == STATUS_OK
               ? links_set(t, spec, (double)port_links(mapped) + mapped->graph.edge_count)
               : status;
}

void mapped_release(void *shape)
{
    struct mapped *mapped = shape;
    for (int p = 0; p < mapped->places; p++)
        free(mapped->names[p]);
    free(mapped->names);
    free(mapped->vertex);
    free(mapped->port);
    link_graph_free(&mapped->graph);
    free(mapped);
}

void mapped_route(const struct topology *t, int from, int to, struct topology_way *route)
{
    const struct mapped *mapped = t->shape;
    if (mapped->has_ports) {
        from /= t->ranks;
        to /= t->ranks;
    }
    if (from == to)
        return;
    if (mapped->has_ports)
        route_add(route, (uint32_t)from);
    link_graph_route(&mapped->graph, mapped->vertex[from], mapped->vertex[to], pair_hash(from, to),
                     port_links(mapped), route);
    if (mapped->has_ports)
        route_add(route, (uint32_t)(mapped->places + to));
}

double mapped_capacity(const struct topology *t, uint32_t link)
{
    const struct mapped *mapped = t->shape;
    uint32_t ports = port_links(mapped);
    return link < ports ? mapped->port[link % (uint32_t)mapped->places]
                        : mapped->graph.edges[link - ports].capacity;
}

double mapped_latency(const struct topology *t, uint32_t link)
{
    const struct mapped *mapped = t->shape;
    uint32_t ports = port_links(mapped);
    return link < ports ? 0 : mapped->graph.edges[link - ports].latency_us;
}

void mapped_name_link(const struct topology *t, uint32_t link, struct text *name)
{
    const struct mapped *mapped = t->shape;
    const struct link_graph *graph = &mapped->graph;
    uint32_t ports = port_links(mapped);
    const char *from, *to;
    if (link < ports) {
        uint32_t place = link % (uint32_t)mapped->places;
        const char *above = graph->names[mapped->vertex[place]], *below = mapped->names[place];
        from = link == place ? below : above;
        to = link == place ? above : below;
    } else {
        from = graph->names[graph->edges[link - ports].from];
        to = graph->names[graph->edges[link - ports].to];
    }
    text_add(name, "%.40s -> %.40s", from, to);
}

void mapped_name_end(const struct topology *t, int end, struct text *name)
{
    const struct mapped *mapped = t->shape;
    if (!mapped->has_ports) {
        text_add(name, "%.60s", mapped->names[end]);
        return;
    }
    text_add(name, "%.60s", mapped->names[end / t->ranks]);
    if (t->ranks > 1)
        text_add(name, " rank %d", end % t->ranks);
}
