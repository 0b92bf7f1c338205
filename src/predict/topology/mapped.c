/*
 * mapped.c - a topology that a file describes.
 */
#include "predict/topology/internal.h"

#include "base/log.h"

#include <hwloc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/*
 * A node as hwloc writes it.
 */
#define PLACES_MOST 4096

static const char *const place_words[] = {"core", "pu", "package", NULL};
static const hwloc_obj_type_t place_types[] = {HWLOC_OBJ_CORE, HWLOC_OBJ_PU, HWLOC_OBJ_PACKAGE};

struct hwloc_reader {
    struct topology *t;
    struct mapped *mapped;
    const struct spec *spec;
    hwloc_topology_t loaded;
    hwloc_obj_type_t type; /* of an end */
};

/* Levels that ends share something at. */
static bool level_counts(hwloc_obj_type_t type)
{
    return type == HWLOC_OBJ_MACHINE || type == HWLOC_OBJ_PACKAGE || type == HWLOC_OBJ_DIE ||
           type == HWLOC_OBJ_L3CACHE || type == HWLOC_OBJ_L2CACHE;
}

static double link_rate(const struct hwloc_reader *reader, hwloc_obj_t object)
{
    const char *key = object->type == HWLOC_OBJ_PACKAGE   ? "package"
                      : object->type == HWLOC_OBJ_DIE     ? "die"
                      : object->type == HWLOC_OBJ_L3CACHE ? "cache"
                                                          : NULL;
    if (key && spec_value(reader->spec, key) > 0)
        return spec_value(reader->spec, key);
    int below =
        object->type == reader->type
            ? 1
            : hwloc_get_nbobjs_inside_cpuset_by_type(reader->loaded, object->cpuset, reader->type);
    return reader->t->rate * (below > 0 ? below : 1);
}

/* Adds an object and what is below it, behind vertex `above`; -1: nothing. Recursion ends at an
 * end, and hwloc's trees have as many levels as there are types, and its groups. */
static bool object_add(struct hwloc_reader *reader, hwloc_obj_t object, int above)
{
    struct link_graph *graph = &reader->mapped->graph;
    bool is_end = object->type == reader->type;
    int vertex = above;
    if (is_end || level_counts(object->type)) {
        char type[40], name[80];
        hwloc_obj_type_snprintf(type, sizeof type, object, 0);
        snprintf(name, sizeof name, "%s %u", type, object->logical_index);
        vertex = link_graph_add_vertex(graph, name);
        if (vertex < 0 || (is_end && !mapped_add_place(reader->mapped, name, vertex, 1)))
            return false;
        if (above >= 0 && !link_graph_add_edges(graph, above, vertex, link_rate(reader, object),
                                                reader->t->latency_us, 1))
            return false;
    }
    bool added = true;
    for (hwloc_obj_t child = is_end ? NULL : object->first_child; child && added;
         child = child->next_sibling)
        added = object_add(reader, child, vertex);
    return added;
}

static enum status tree_add(struct hwloc_reader *reader)
{
    const char *path = reader->spec->name;
    int places = hwloc_get_nbobjs_by_type(reader->loaded, reader->type);
    const char *type = hwloc_obj_type_string(reader->type);
    if (places <= 0)
        return fail(STATUS_USAGE, "%.200s has no %s: give places=pu", path, type);
    if (places > PLACES_MOST)
        return fail(STATUS_USAGE, "%.200s has %d places of ranks (%s), and %d are the most", path,
                    places, type, PLACES_MOST);
    if (!object_add(reader, hwloc_get_root_obj(reader->loaded), -1))
        return fail(STATUS_ERROR, "out of memory for the topology of %.200s", path);
    struct text words = text_in(reader->t->words, sizeof reader->t->words);
    text_add(&words, "%.100s: a node of %d places (%s)", path, places, type);
    return mapped_finish(reader->t, reader->spec);
}

/* hwloc says on stderr what it finds wrong, unless it is told not to. */
static bool file_load(struct hwloc_reader *reader)
{
    const struct spec *spec = reader->spec;
    size_t size = strlen(spec->content) + 1;
    return size <= INT_MAX &&
           hwloc_topology_set_xmlbuffer(reader->loaded, spec->content, (int)size) == 0 &&
           hwloc_topology_load(reader->loaded) == 0;
}

static enum status hwloc_make(struct topology *t, struct spec *spec)
{
    struct hwloc_reader reader = {.t = t,
                                  .mapped = mapped_create(t),
                                  .spec = spec,
                                  .type = place_types[(int)spec_value(spec, "places")]};
    t->hosts = 1;
    if (!reader.mapped || hwloc_topology_init(&reader.loaded) != 0)
        return fail(STATUS_ERROR, "out of memory for the topology of %.200s", spec->name);
    enum status status = file_load(&reader)
                             ? tree_add(&reader)
                             : fail(STATUS_USAGE,
                                    "%.200s is no topology that hwloc reads: write it with 'lstopo "
                                    "--of xml'",
                                    spec->name);
    hwloc_topology_destroy(reader.loaded);
    return status;
}

const struct topology_family family_hwloc = {
    .name = "hwloc's XML",
    .help = "the cores of a node",
    .keys = {{.name = "places", .words = place_words, .help = "of ranks: core, pu, package"},
             {.name = "cache",
              .most = 1e6,
              .is_real = true,
              .help = "what a link above a third-level cache carries"},
             {.name = "die", .most = 1e6, .is_real = true, .help = "above a die"},
             {.name = "package", .most = 1e6, .is_real = true, .help = "above a package"}},
    .make = hwloc_make,
    MAPPED_HOOKS,
};
