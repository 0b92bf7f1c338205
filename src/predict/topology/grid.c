/*
 * grid.c - tori, meshes and rings. Each dimension is a class of links, numbered by their lower
 * host. A link up leads from coordinate c to c + 1.
 */
#include "predict/topology/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

#define DIMENSIONS_MOST LINK_CLASSES_MOST

struct host_grid {
    int dimensions;
    int size[DIMENSIONS_MOST];
    int stride[DIMENSIONS_MOST]; /* in host numbers */
    bool closed;
};

/* ---- making one ---- */

static enum status sizes_read(const struct spec *spec, struct host_grid *grid)
{
    const char *at = spec->shape;
    char *end;
    if (!at)
        return spec_refuse(spec, "give its size behind it, as in torus:8x8x8, mesh:4x4, ring:16");
    for (;; at = end + 1) {
        long size = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
        if (size < 1 || size > HOSTS_MOST || (*end != '\0' && *end != 'x'))
            return spec_refuse(spec, "'%.60s' is no size: give numbers as 8x8x8, each 1 to %d",
                               spec->shape, HOSTS_MOST);
        if (grid->dimensions == DIMENSIONS_MOST)
            return spec_refuse(spec, "'%.60s' has more than %d dimensions", spec->shape,
                               DIMENSIONS_MOST);
        grid->size[grid->dimensions++] = (int)size;
        if (*end == '\0')
            return STATUS_OK;
    }
}

static enum status hosts_count(struct topology *t, const struct spec *spec)
{
    struct host_grid *grid = t->shape;
    double hosts = 1;
    for (int d = grid->dimensions - 1; d >= 0; d--) {
        grid->stride[d] = (int)hosts;
        hosts *= grid->size[d];
        if (hosts > HOSTS_MOST)
            return spec_refuse(spec, "it has more than %d hosts", HOSTS_MOST);
    }
    t->hosts = (int)hosts;
    return STATUS_OK;
}

static void links_number(struct topology *t)
{
    struct host_grid *grid = t->shape;
    t->route_most = 1;
    for (int d = 0; d < grid->dimensions; d++) {
        int size = grid->size[d], rows = t->hosts / size;
        int steps = grid->closed && size > 1 ? size : size - 1;
        links_add(t, (uint64_t)rows * (uint64_t)steps, 2, t->rate, t->latency_us);
        t->route_most += (size_t)(grid->closed ? size / 2 : size - 1);
    }
}

static enum status grid_make(struct topology *t, const struct spec *spec, bool closed)
{
    struct host_grid *grid = t->shape = new_array(1, sizeof *grid);
    grid->closed = closed;
    TRY(sizes_read(spec, grid));
    TRY(hosts_count(t, spec));
    links_number(t);
    struct text words = text_in(t->words, sizeof t->words);
    text_add(&words, "%s of %s: %d hosts, %u links", t->family->name, spec->shape, t->hosts,
             topology_links(t));
    return STATUS_OK;
}

static enum status torus_make(struct topology *t, struct spec *spec)
{
    return grid_make(t, spec, true);
}

static enum status mesh_make(struct topology *t, struct spec *spec)
{
    return grid_make(t, spec, false);
}

static enum status ring_make(struct topology *t, struct spec *spec)
{
    if (!spec->shape || strchr(spec->shape, 'x'))
        return spec_refuse(spec, "give the number of its hosts, as in ring:16");
    return grid_make(t, spec, true);
}

/* ---- ways ---- */

/* The number of the links between a host and the next one up. A mesh has none at its last host, so
 * its numbers leave that out. */
static uint32_t link_number(const struct host_grid *grid, int d, int lower)
{
    int size = grid->size[d], stride = grid->stride[d];
    int row = lower / (stride * size), at = lower / stride % size,
        steps = grid->closed ? size : size - 1;
    return ((uint32_t)row * (uint32_t)steps + (uint32_t)at) * (uint32_t)stride +
           (uint32_t)(lower % stride);
}

/* Hops from one coordinate to another; negative: downwards. */
static int hops_between(const struct host_grid *grid, int d, int from, int to)
{
    int size = grid->size[d], up = to - from;
    if (!grid->closed)
        return up;
    up = (up + size) % size;
    if (2 * up == size)
        return from % 2 ? -up : up;
    return 2 * up < size ? up : up - size;
}

static void grid_route(const struct topology *t, int from, int to, struct topology_way *route)
{
    const struct host_grid *grid = t->shape;
    int host = from / t->ranks, target = to / t->ranks;
    for (int d = grid->dimensions - 1; d >= 0; d--) {
        int size = grid->size[d], stride = grid->stride[d];
        int at = host / stride % size;
        int hops = hops_between(grid, d, at, target / stride % size);
        for (; hops != 0; hops -= hops > 0 ? 1 : -1) {
            int next = (at + (hops > 0 ? 1 : size - 1)) % size;
            int moved = host + (next - at) * stride;
            route_add(route, hops > 0 ? link_up(t, d, link_number(grid, d, host))
                                      : link_down(t, d, link_number(grid, d, moved)));
            host = moved;
            at = next;
        }
    }
}

/* ---- names ---- */

static void host_name(const struct host_grid *grid, int host, struct text *name)
{
    if (grid->dimensions == 1) {
        text_add(name, "host %d", host);
        return;
    }
    for (int d = 0; d < grid->dimensions; d++)
        text_add(name, "%s%d", d ? "," : "(", host / grid->stride[d] % grid->size[d]);
    text_add(name, ")");
}

static void grid_name_link(const struct topology *t, int d, uint32_t link, struct text *below,
                           struct text *above)
{
    const struct host_grid *grid = t->shape;
    int number = (int)link, size = grid->size[d], stride = grid->stride[d];
    int steps = grid->closed ? size : size - 1;
    int at = number / stride % steps, row = number / stride / steps;
    int lower = (row * size + at) * stride + number % stride;
    host_name(grid, lower, below);
    host_name(grid, lower + ((at + 1) % size - at) * stride, above);
}

static void grid_name_end(const struct topology *t, int end, struct text *name)
{
    host_name(t->shape, end / t->ranks, name);
    if (t->ranks > 1)
        text_add(name, " rank %d", end % t->ranks);
}

#define GRID_HOOKS .route = grid_route, .name_link = grid_name_link, .name_end = grid_name_end

const struct topology_family family_torus = {
    .name = "torus",
    .shape = "8x8x8",
    .help = "hosts with links to their neighbours, closed in each dimension",
    .make = torus_make,
    GRID_HOOKS,
};

const struct topology_family family_mesh = {
    .name = "mesh",
    .shape = "4x4",
    .help = "the same, open",
    .make = mesh_make,
    GRID_HOOKS,
};

const struct topology_family family_ring = {
    .name = "ring",
    .shape = "16",
    .help = "a torus of one dimension",
    .make = ring_make,
    GRID_HOOKS,
};
