/*
 * placed_ranks.h - ranks that sit on a topology: --topology and --place.
 */
#ifndef CCTEST_CLI_PREDICT_PLACED_RANKS_H
#define CCTEST_CLI_PREDICT_PLACED_RANKS_H

#include "base/status.h"
#include "predict/topology/topology.h"

struct placed_ranks {
    struct topology *topology;
    const char *spec, *place; /* as the user gave them */
    int ranks;
    int *end;  /* of each rank */
    int *host; /* of each rank */
};

/* `place` NULL: block. STATUS_USAGE if either is wrong, or the ranks do not fit. To be freed with
 * placed_ranks_free(), also after an error. */
enum status placed_ranks_make(const char *spec, const char *place, int ranks,
                              struct placed_ranks *placed);
/* A short ring of the ranks: of each, its place on it (problem->ring_place). The caller frees it with
 * free(); NULL after an error. */
enum status placed_ranks_ring(const struct placed_ranks *placed, int **ring_place);
void placed_ranks_free(struct placed_ranks *placed); /* zeroed is allowed */

#endif
