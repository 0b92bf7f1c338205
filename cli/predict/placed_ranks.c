/*
 * placed_ranks.c - ranks that sit on a topology.
 */
#include "cli/predict/internal.h"

#include <stdlib.h>

#include "base/log.h"
#include "predict/topology/topology.h"
#include "collective/collective.h"

enum status placed_ranks_make(const char *spec, const char *place, int ranks,
                              struct placed_ranks *placed)
{
    *placed = (struct placed_ranks){.spec = spec,
                                    .place = place ? place : "block",
                                    .ranks = ranks,
                                    .end = calloc((size_t)ranks, sizeof *placed->end),
                                    .host = calloc((size_t)ranks, sizeof *placed->host)};
    if (!placed->end || !placed->host)
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    enum status status = topology_parse(spec, &placed->topology);
    if (status == STATUS_OK)
        status = placement_make(placed->topology, placed->place, ranks, placed->end);
    for (int r = 0; r < ranks && status == STATUS_OK; r++)
        placed->host[r] = topology_host(placed->topology, placed->end[r]);
    return status;
}

/* ---- the ring ---- */

static uint32_t ends_distance(const void *argument, int a, int b)
{
    const struct placed_ranks *placed = argument;
    int from = a < b ? a : b, to = a < b ? b : a; /* the ways there and back may differ */
    return topology_distance(placed->topology, placed->end[from], placed->end[to]);
}

static int ends_compare(const void *a, const void *b, void *argument)
{
    const struct placed_ranks *placed = argument;
    int x = placed->end[*(const int *)a], y = placed->end[*(const int *)b];
    return (x > y) - (x < y);
}

/* Ends are numbered host by host, so their order is a good one to begin with. */
enum status placed_ranks_ring(const struct placed_ranks *placed, int **ring_place)
{
    const struct rank_distances distances = {ends_distance, placed};
    *ring_place =
        ring_places_find(&distances, placed->ranks, ends_compare, (void *)(uintptr_t)placed);
    return *ring_place ? STATUS_OK : STATUS_ERROR;
}

void placed_ranks_free(struct placed_ranks *placed)
{
    topology_free(placed->topology);
    free(placed->end);
    free(placed->host);
    *placed = (struct placed_ranks){0};
}
