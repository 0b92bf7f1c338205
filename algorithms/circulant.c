/*
 * circulant.c - circulant graphs: every rank sends to the ranks p/2, p/4, p/8, ... ahead, rounded
 * up.
 *
 * A partial sum on its way home is at a distance from it, 1 to p-1. The first hop (algorithms/common/common.h) takes
 * the farther half, ceil(p/2) .. p-1, nearer by ceil(p/2). The same problem then remains for
 * ceil(p/2) distances:
 *
 *      p = 6, blocks that rank 0 sends:
 *
 *      distance    1  2  3  4  5                 ceil(log2 p) steps, every block once,
 *      step 0            x  x  x    by 3         so (p-1)b; the blocks of a message are
 *      step 1         x             by 2         neighbours for every p
 *      step 2      x                by 1
 *
 *   collective                      steps           sent                    scratch
 *   reduce_scatter                  ceil(log2 p)    (p-1)b                  floor(p/2) b
 *   allgather                       ceil(log2 p)    (p-1)b                  0
 *   allreduce, scatter-circulant    2ceil(log2 p)   2(p-1)b                 0
 *   circulant-rsg                   2ceil(log2 p)   (p-1)b + floor(p/2) b   floor(p/2) b
 *
 * In reduce_scatter the large messages go far; in nhr (nonuniform.c) they stay near. Scatter and
 * gather use the same hops: the root sends the farther half first.
 *
 * Source: Traff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", 2024. The same
 * graph serves broadcasts in many segments: circulant_pipelined.c.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

static const struct route circulant = {.hops = circulant_hops, .direction = 1};

static void circulant_reduce_scatter(struct builder *b, const struct call *call)
{
    route_reduce_scatter(b, call, &circulant);
}

static void circulant_allgather(struct builder *b, const struct call *call)
{
    route_allgather(b, call, &circulant);
}

static void circulant_allreduce(struct builder *b, const struct call *call)
{
    route_allreduce(b, call, &circulant, &circulant);
}

static void scatter_circulant_broadcast(struct builder *b, const struct call *call)
{
    route_broadcast(b, call, &circulant, &circulant);
}

static void circulant_rsg_reduce(struct builder *b, const struct call *call)
{
    route_reduce(b, call, &circulant);
}

const struct algorithm reduce_scatter_circulant = {
    .name = "circulant",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "partial sums of the farther half go half of the way home, and so on",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "Traff",
    .write = circulant_reduce_scatter,
};

const struct algorithm allgather_circulant = {
    .name = "circulant",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "all that is there goes to the rank p/2^k behind, near ones first",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "Traff",
    .write = circulant_allgather,
};

const struct algorithm allreduce_circulant = {
    .name = "circulant",
    .collectives = SERVES(ALLREDUCE),
    .summary = "circulant reduce_scatter, then circulant allgather",
    .rounds = "2ceil(log2 p)",
    .sent = "2(p-1)b",
    .users = "Traff",
    .write = circulant_allreduce,
};

const struct algorithm broadcast_scatter_circulant = {
    .name = "scatter-circulant",
    .collectives = SERVES(BROADCAST),
    .summary = "scatter by halves, then circulant allgather",
    .rounds = "2ceil(log2 p)",
    .sent = "2(p-1)b",
    .users = "Traff",
    .write = scatter_circulant_broadcast,
};

const struct algorithm reduce_circulant_rsg = {
    .name = "circulant-rsg",
    .collectives = SERVES(REDUCE),
    .summary = "circulant reduce_scatter, then gather by halves",
    .rounds = "2ceil(log2 p)",
    .sent = "(p-1)b + floor(p/2) b",
    .users = "Traff",
    .write = circulant_rsg_reduce,
};
