/*
 * nonuniform.c - Bruck without rotation (nb), the nonuniform hierarchical ring (nhr), and parallel
 * aggregated trees (pat): a logarithmic number of steps for every number of ranks.
 *
 * A partial sum on its way home is at a distance from it, 1 to p-1. In step k it moves by 2^k if
 * that is the lowest bit of the distance: a hop (algorithms/common/common.h) of reach d = 2^k and
 * stride 2d. The first step carries half of all blocks, the last one a single block:
 *
 *      p = 6, blocks that rank 0 sends:
 *
 *      distance    1  2  3  4  5                 ceil(log2 p) steps, every block once,
 *      step 0      x     x     x    by 1         so (p-1)b; no rank is folded, also
 *      step 1         x             by 2         if p is not a power of two
 *      step 2               x       by 4
 *
 *                  reduce_scatter           allgather                       gather, scatter
 *      nb          to r+1, r+2, r+4, ...    Bruck's: to r+1, r+2, r+4, ...  a near first tree
 *      nhr         to r-1, r-2, r-4, ...    its reverse: to ..., r+2, r+1   the same, mirrored
 *      pat         as nb                    its reverse: to ..., r-2, r-1
 *
 * So nhr and pat send much to near ranks and little to far ones. Bruck's allgather sends d
 * contiguous blocks d ranks ahead: the most go the farthest.
 *
 *   collective             steps           sent                        scratch
 *   reduce_scatter         ceil(log2 p)    (p-1)b                      floor(p/2) b
 *   allgather              ceil(log2 p)    (p-1)b                      0
 *   scatter                ceil(log2 p)    (p-1)b                      (floor(p/2) - 1)b
 *   gather                 ceil(log2 p)    floor(p/2) b                (floor(p/2) - 1)b
 *   allreduce, broadcast   2ceil(log2 p)   2(p-1)b                     0
 *   reduce                 2ceil(log2 p)   (p-1)b + floor(p/2) b       floor(p/2) b
 *
 * The blocks of a step are scattered over the buffer. If a vector is cut into blocks, their order
 * is free: nhr orders them such that the blocks of a step are contiguous (HCCL's slice map).
 *
 * pat:concurrency=C cuts the steps into rounds of one message of at most C blocks each, as NCCL
 * does when its buffers are smaller. NCCL also reorders these rounds to need fewer buffers; here
 * each block has its own memory anyway.
 *
 * The allgather of nb is the mirror image of that of bruck.c with radix 2; there the radix is an
 * option.
 *
 * Used by: HCCL (NB, NHR), NCCL (PAT), Open MPI and UCC (sparbit is the allgather of nhr). Sources:
 * Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
 * systems", IEEE TPDS 1997; Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter
 * operations at scale", 2025.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

/* The lowest bit of the distance first. */
static int bit_hops(int p, struct hop hops[HOPS_MOST])
{
    int count = 0;
    for (int d = 1; d < p; d *= 2)
        hops[count++] = (struct hop){.reach = d, .stride = 2 * d, .count = (p - 1 + d) / (2 * d)};
    return count;
}

/* The highest bit of the distance first. Reversed in time it is Bruck's allgather. */
static int bruck_hops(int p, struct hop hops[HOPS_MOST])
{
    int count = 0, d = 1;
    while (d < p)
        d *= 2;
    for (d /= 2; d >= 1; d /= 2)
        hops[count++] = (struct hop){.reach = d, .stride = 1, .count = d < p - d ? d : p - d};
    return count;
}

/* Makes the blocks of a message contiguous: groups blocks by their remainder modulo `parts`, and
 * sorts the remainders by their reversed bits. `parts` is the largest power of two that divides p
 * and for which a step sends several blocks of a part. */
static void nhr_lay(int p, int order[])
{
    int parts = 1, count = 0;
    while (p % parts == 0 && (p - 1 + parts) / (2 * parts) > 1)
        parts *= 2;
    for (int i = 0, remainder = 0; i < parts; i++) {
        for (int block = remainder; block < p; block += parts)
            order[count++] = block;
        int bit = parts / 2;
        for (; remainder & bit; bit /= 2)
            remainder ^= bit;
        remainder |= bit;
    }
}

static const struct route nb = {.hops = bit_hops, .direction = 1};
static const struct route nb_gathering = {.hops = bruck_hops, .direction = -1};
static const struct route nhr = {.hops = bit_hops, .direction = -1};
static const struct route nhr_laid = {.hops = bit_hops, .direction = -1, .lay = nhr_lay};

static void nb_reduce_scatter(struct builder *b, const struct call *call)
{
    route_reduce_scatter(b, call, &nb);
}

static void nhr_reduce_scatter(struct builder *b, const struct call *call)
{
    route_reduce_scatter(b, call, &nhr);
}

static void nb_allgather(struct builder *b, const struct call *call)
{
    route_allgather(b, call, &nb_gathering);
}

static void nhr_allgather(struct builder *b, const struct call *call)
{
    route_allgather(b, call, &nhr);
}

static void nb_allreduce(struct builder *b, const struct call *call)
{
    route_allreduce(b, call, &nb, &nb_gathering);
}

static void nhr_allreduce(struct builder *b, const struct call *call)
{
    route_allreduce(b, call, &nhr_laid, &nhr_laid);
}

static void nb_scatter(struct builder *b, const struct call *call)
{
    route_scatter(b, call, &nb);
}

static void nhr_scatter(struct builder *b, const struct call *call)
{
    route_scatter(b, call, &nhr);
}

static void nb_gather(struct builder *b, const struct call *call)
{
    route_gather(b, call, &nb);
}

static void nhr_gather(struct builder *b, const struct call *call)
{
    route_gather(b, call, &nhr);
}

static void nb_broadcast(struct builder *b, const struct call *call)
{
    route_broadcast(b, call, &nb, &nb_gathering);
}

static void nhr_broadcast(struct builder *b, const struct call *call)
{
    route_broadcast(b, call, &nhr_laid, &nhr_laid);
}

static void nb_reduce(struct builder *b, const struct call *call)
{
    route_reduce(b, call, &nb);
}

static void nhr_reduce(struct builder *b, const struct call *call)
{
    route_reduce(b, call, &nhr_laid);
}

static struct route pat_route(const struct call *call)
{
    return (struct route){
        .hops = bit_hops, .direction = 1, .most = (int)call_option(call, "concurrency")};
}

static void pat_reduce_scatter(struct builder *b, const struct call *call)
{
    struct route pat = pat_route(call);
    route_reduce_scatter(b, call, &pat);
}

static void pat_allgather(struct builder *b, const struct call *call)
{
    struct route pat = pat_route(call);
    route_allgather(b, call, &pat);
}

static void pat_allreduce(struct builder *b, const struct call *call)
{
    struct route pat = pat_route(call);
    route_allreduce(b, call, &pat, &pat);
}

const struct algorithm reduce_scatter_nb = {
    .name = "nb",
    .aliases = {"nonuniform-bruck"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary =
        "partial sums travel by the bits of their distance, lowest first: r+1, r+2, r+4, ...",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "HCCL",
    .alike = true,
    .write = nb_reduce_scatter,
};

const struct algorithm reduce_scatter_nhr = {
    .name = "nhr",
    .aliases = {"nonuniform-hierarchical-ring"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary =
        "partial sums travel by the bits of their distance, lowest first: r-1, r-2, r-4, ...",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "HCCL",
    .alike = true,
    .write = nhr_reduce_scatter,
};

const struct algorithm reduce_scatter_pat = {
    .name = "pat",
    .aliases = {"parallel-aggregated-trees"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "as nb, with messages of at most C blocks",
    .rounds = "ceil(log2 p) when full",
    .sent = "(p-1)b",
    .users = "NCCL",
    .options = {{"concurrency", 1, 65536, 65536, "blocks in a message"}},
    .alike = true,
    .write = pat_reduce_scatter,
};

const struct algorithm allgather_nb = {
    .name = "nb",
    .aliases = {"nonuniform-bruck"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "Bruck without rotation: all blocks so far go to r+1, r+2, r+4, ...",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "HCCL",
    .write = nb_allgather,
};

const struct algorithm allgather_nhr = {
    .name = "nhr",
    .aliases = {"sparbit", "nonuniform-hierarchical-ring"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "far ranks first: one block to the farthest, the most to r+1",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "HCCL, Open MPI and UCC (sparbit)",
    .alike = true,
    .write = nhr_allgather,
};

const struct algorithm allgather_pat = {
    .name = "pat",
    .aliases = {"parallel-aggregated-trees"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "nhr mirrored, with messages of at most C blocks",
    .rounds = "ceil(log2 p) when full",
    .sent = "(p-1)b",
    .users = "NCCL",
    .options = {{"concurrency", 1, 65536, 65536, "blocks in a message"}},
    .alike = true,
    .write = pat_allgather,
};

const struct algorithm allreduce_nb = {
    .name = "nb",
    .aliases = {"nonuniform-bruck"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "nb reduce_scatter, then nb allgather",
    .rounds = "2ceil(log2 p)",
    .sent = "2(p-1)b",
    .users = "HCCL",
    .write = nb_allreduce,
};

const struct algorithm allreduce_nhr = {
    .name = "nhr",
    .aliases = {"nonuniform-hierarchical-ring"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "nhr reduce_scatter, then nhr allgather; with 2^k ranks each message is one piece",
    .rounds = "2ceil(log2 p)",
    .sent = "2(p-1)b",
    .users = "HCCL",
    .write = nhr_allreduce,
};

const struct algorithm allreduce_pat = {
    .name = "pat",
    .aliases = {"parallel-aggregated-trees"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "pat reduce_scatter, then pat allgather",
    .rounds = "2ceil(log2 p) when full",
    .sent = "2(p-1)b",
    .options = {{"concurrency", 1, 65536, 65536, "blocks in a message"}},
    .alike = true,
    .write = pat_allreduce,
};

const struct algorithm scatter_nb = {
    .name = "nb",
    .aliases = {"nonuniform-bruck"},
    .collectives = SERVES(SCATTER) | SERVES(SCATTERV),
    .summary = "a binomial tree, near ranks first",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "HCCL",
    .write = nb_scatter,
};

const struct algorithm scatter_nhr = {
    .name = "nhr",
    .aliases = {"nonuniform-hierarchical-ring"},
    .collectives = SERVES(SCATTER) | SERVES(SCATTERV),
    .summary = "nb mirrored: to r-1, r-2, r-4, ...",
    .rounds = "ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "HCCL",
    .write = nhr_scatter,
};

const struct algorithm gather_nb = {
    .name = "nb",
    .aliases = {"nonuniform-bruck"},
    .collectives = SERVES(GATHER) | SERVES(GATHERV),
    .summary = "a binomial tree, far ranks first",
    .rounds = "ceil(log2 p)",
    .sent = "floor(p/2) b",
    .users = "HCCL",
    .write = nb_gather,
};

const struct algorithm gather_nhr = {
    .name = "nhr",
    .aliases = {"nonuniform-hierarchical-ring"},
    .collectives = SERVES(GATHER) | SERVES(GATHERV),
    .summary = "nb mirrored: from ..., r-4, r-2, r-1",
    .rounds = "ceil(log2 p)",
    .sent = "floor(p/2) b",
    .users = "HCCL",
    .write = nhr_gather,
};

const struct algorithm broadcast_nb = {
    .name = "nb",
    .aliases = {"nonuniform-bruck"},
    .collectives = SERVES(BROADCAST),
    .summary = "nb scatter, then nb allgather",
    .rounds = "2ceil(log2 p)",
    .sent = "2(p-1)b",
    .users = "HCCL",
    .write = nb_broadcast,
};

const struct algorithm broadcast_nhr = {
    .name = "nhr",
    .aliases = {"nonuniform-hierarchical-ring"},
    .collectives = SERVES(BROADCAST),
    .summary = "nhr scatter, then nhr allgather; with 2^k ranks each message is one piece",
    .rounds = "2ceil(log2 p)",
    .sent = "2(p-1)b",
    .users = "HCCL",
    .write = nhr_broadcast,
};

const struct algorithm reduce_nb = {
    .name = "nb",
    .aliases = {"nonuniform-bruck"},
    .collectives = SERVES(REDUCE),
    .summary = "nb reduce_scatter, then nb gather",
    .rounds = "2ceil(log2 p)",
    .sent = "(p-1)b + floor(p/2) b",
    .users = "HCCL",
    .write = nb_reduce,
};

const struct algorithm reduce_nhr = {
    .name = "nhr",
    .aliases = {"nonuniform-hierarchical-ring"},
    .collectives = SERVES(REDUCE),
    .summary = "nhr reduce_scatter, then nhr gather; with 2^k ranks each message is one piece",
    .rounds = "2ceil(log2 p)",
    .sent = "(p-1)b + floor(p/2) b",
    .users = "HCCL",
    .write = nhr_reduce,
};
