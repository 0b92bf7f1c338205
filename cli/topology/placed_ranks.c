/*
 * placed_ranks.c - ranks that sit on a topology.
 */
#include "cli/topology/placed_ranks.h"

#include <stdlib.h>

#include "base/log.h"
#include "topology/placement.h"

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

void placed_ranks_free(struct placed_ranks *placed)
{
    topology_free(placed->topology);
    free(placed->end);
    free(placed->host);
    *placed = (struct placed_ranks){0};
}
