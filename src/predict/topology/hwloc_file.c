/*
 * hwloc_file.c - a node as hwloc writes it.
 */
#include "predict/topology/internal.h"

#include "base/log.h"

#include <hwloc.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define PLACES_MOST 4096

static const char *const place_words[] = {"core", "pu", "package", NULL};
static const hwloc_obj_type_t place_types[] = {HWLOC_OBJ_CORE, HWLOC_OBJ_PU, HWLOC_OBJ_PACKAGE};

struct hwloc_reader {
    struct topology *t;
    struct link_graph *graph;
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
    struct link_graph *graph = reader->graph;
    bool is_end = object->type == reader->type;
    int vertex = above;
    if (is_end || level_counts(object->type)) {
        char type[40], name[80];
        hwloc_obj_type_snprintf(type, sizeof type, object, 0);
        snprintf(name, sizeof name, "%s %u", type, object->logical_index);
        vertex = link_graph_add_vertex(graph, name);
        if (vertex < 0 || (is_end && !link_graph_add_place(graph, name, vertex, 1)))
            return false;
        if (above >= 0 && !link_graph_add_edges(graph, above, vertex, link_rate(reader, object), 1))
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
    return link_graph_finish(reader->t, reader->spec);
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
                                  .graph = link_graph_create(t),
                                  .spec = spec,
                                  .type = place_types[(int)spec_value(spec, "places")]};
    t->hosts = 1;
    if (hwloc_topology_init(&reader.loaded) != 0)
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
    LINK_GRAPH_HOOKS,
};
