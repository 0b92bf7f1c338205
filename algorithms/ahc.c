/*
 * ahc.c - Asymmetric Hierarchical Concatenate: hierarchical collectives for nodes of any sizes.
 *
 * Nodes of different sizes have no rails. The data is cut into U units; U is the least common
 * multiple of the sizes m. Local rank j of a node owns the units [j U/m, (j+1) U/m). The boundaries
 * of all nodes cut the data into intervals. An interval has exactly one owner in every node, and
 * its owners are its rail.
 *
 *   sizes 2 and 3, U = 6         units  0   1   2   3   4   5   6
 *                      node 0           |     0     |     1     |
 *                      node 1           |   0   |   1   |   2   |
 *                      intervals        |   A   | B | C |   D   |     A: owners 0 and 0,
 *                                                                     B: 0 and 1, C: 1 and 1 ...
 *
 *   allreduce       reduce_scatter in the node, allreduce of each interval among its owners,
 *                   allgather in the node
 *   reduce_scatter  the blocks of each node are a region, cut at the same boundaries, scaled so
 *                   that each rank's portion of its node's region is its block: reduce_scatter of
 *                   all regions in the node, then of each interval among its owners
 *   allgather       reduce_scatter in reverse
 *
 * `ahc-broke` is simpler: only the first m_min ranks of each node own units, and a rail is the
 * ranks with the same local rank. The other ranks' links between the nodes stay idle.
 *
 * G nodes, the largest with M ranks and the smallest with m. The standard parts are NB inside and
 * rings between; for ahc-broke rings inside, too, since NB sends the rests of long shares many
 * times:
 *
 *   collective             rounds                    sent                        scratch
 *   allreduce              2(ceil(log2 M) + G-1)     2(GM-1)/(GM) n              up to n/2
 *   reduce_scatter         ceil(log2 M) + G-1        (p-1)b                      up to 2n
 *   allgather              G-1 + ceil(log2 M)        up to (p - m/M) b           0
 *   allreduce, ahc-broke   2(M-1 + G-1)              up to (2 + (G-2)/(Gm)) n    up to n
 *
 * A rank of a ring between nodes passes on the interval of all regions except that of the next
 * node. So in allgather the rank of a large node before a small one sends most. A rank with several
 * intervals works on them concurrently. Scratch of reduce_scatter: the rank's share of all regions
 * (n over the size of its node), and that of the parts.
 *
 * Used by: HCCL (AHC, AHC_BROKE). Source: HCCL's asymmetric_hierarchical_concatenate_base.
 */
#include "algorithms/algorithms.h"

#include <stdio.h>
#include <stdlib.h>

#include "algorithms/common/common.h"
#include "base/numbers.h"

#define UNITS_MOST 1000000000L

/* The rule by which data is cut. */
struct cut {
    struct nodes nodes;
    long units; /* U */
    int owners; /* ranks of a node that own units: all, or m_min of every node */
    bool broke;
};

/* Interval [from, to) of the units, and the ranks that own it, in the order of the nodes. */
struct interval {
    long from, to;
    const int *ranks;
};

static long units_of(const struct shape *shape)
{
    long units = 1;
    for (int a = 0; a < shape->groups && units <= UNITS_MOST; a++) {
        long size = shape_size(shape, a);
        units = units / common_divisor(units, size) * size;
    }
    return units;
}

static int least_size(const struct shape *shape)
{
    int least = shape_size(shape, 0);
    for (int a = 1; a < shape->groups; a++)
        least = shape_size(shape, a) < least ? shape_size(shape, a) : least;
    return least;
}

static const char *ahc_refuses(const struct problem *problem, const struct choice *choice,
                               char *why, size_t size)
{
    const char *refusal = nodes_parts_refuse(problem, choice, why, size);
    if (!refusal && units_of(problem->shape) > UNITS_MOST)
        refusal =
            problem->collective->id == COLLECTIVE_ALLREDUCE
                ? "the least common multiple of the group sizes is too large: use ahc-broke or "
                  "hier-leader"
                : "the least common multiple of the group sizes is too large: use nhr, which "
                  "needs no groups";
    return refusal;
}

static struct cut cut_of(struct builder *b, const struct call *call, bool broke)
{
    struct cut cut = {.nodes = nodes_of(b, call), .broke = broke};
    int least = least_size(cut.nodes.shape);
    cut.units = broke ? least : units_of(cut.nodes.shape);
    cut.owners = broke ? least : cut.nodes.each;
    return cut;
}

/* Where the share of a local rank begins, in a node with `owners` owners. */
static long share_from(const struct cut *cut, int local_rank, int owners)
{
    return local_rank < owners ? cut->units / owners * local_rank : cut->units;
}

/* The interval that begins at `from`, inside this rank's share. */
static struct interval interval_at(struct builder *b, const struct cut *cut, long from)
{
    const struct shape *shape = cut->nodes.shape;
    struct interval interval = {.from = from, .to = cut->units};
    int *ranks = index_array(b, shape->groups);
    for (int a = 0; ranks && a < shape->groups; a++) {
        int owners = cut->broke ? cut->owners : shape_size(shape, a);
        long share = cut->units / owners;
        int local_rank = (int)(from / share);
        long end = share * (local_rank + 1);
        ranks[a] = shape_rank(shape, a, local_rank);
        interval.to = end < interval.to ? end : interval.to;
    }
    interval.ranks = ranks;
    return interval;
}

/* x * length / units, rounded down. */
static size_t scale(size_t length, long x, long units)
{
    size_t u = (size_t)units, at = (size_t)x;
    return length / u * at + length % u * at / u;
}

/* Units [from, to) of one vector. */
static struct message vector_units(struct builder *b, const struct cut *cut, struct message whole,
                                   long from, long to)
{
    size_t length = message_length(whole);
    size_t begin = scale(length, from, cut->units), end = scale(length, to, cut->units);
    return message_part(b, whole, begin, end - begin);
}

/* The shares of all ranks of this node. */
static struct view vector_shares(struct builder *b, const struct cut *cut, const struct view *whole)
{
    struct message all = view_all(b, whole);
    int each = cut->nodes.each;
    struct message *shares = message_array(b, each);
    for (int j = 0; shares && j < each; j++)
        shares[j] = vector_units(b, cut, all, share_from(cut, j, cut->owners),
                                 share_from(cut, j + 1, cut->owners));
    return (struct view){shares, shares ? each : 0};
}

/* Runs the part on every interval of this rank's share, concurrently; a rank without a share counts
 * the rounds. `views`: makes the source and destination of the part. */
typedef void interval_views(struct builder *b, const struct cut *cut, const void *context,
                            const struct interval *interval, struct view *source,
                            struct view *destination);

static void on_intervals(struct builder *b, const struct call *call, const struct cut *cut,
                         enum collective_id collective, interval_views *views, const void *context)
{
    int local_rank = cut->nodes.local_rank;
    long from = share_from(cut, local_rank, cut->owners),
         end = share_from(cut, local_rank + 1, cut->owners);
    struct group begin = group_beside(b, call->group);
    int lanes = builder_lanes(b);
    if (from == end) /* no share: count the rounds of the first rail */
        from = 0, end = 1;
    while (from < end) {
        struct interval interval = interval_at(b, cut, from);
        if (!interval.ranks)
            return;
        struct group beside = group_beside(b, &begin);
        struct group rail = group_part(b, &beside, interval.ranks, cut->nodes.count);
        struct view source, destination;
        builder_set_lanes(b, lanes);
        views(b, cut, context, &interval, &source, &destination);
        call_part(b, call, "inter", collective,
                  &(struct call){.group = &rail, .source = source, .destination = destination});
        group_join(b, call->group, &beside);
        from = interval.to;
    }
}

/* Allreduce. */

static void allreduce_views(struct builder *b, const struct cut *cut, const void *context,
                            const struct interval *interval, struct view *source,
                            struct view *destination)
{
    struct message all = view_all(b, context);
    *source = view_of(b, vector_units(b, cut, all, interval->from, interval->to));
    *destination = *source;
}

static void allreduce_cut(struct builder *b, const struct call *call, bool broke)
{
    struct cut cut = cut_of(b, call, broke);
    struct view source = vector_shares(b, &cut, &call->source);
    struct view all = vector_shares(b, &cut, &call->destination);
    struct view own = view_of(b, view_block(&all, cut.nodes.local_rank));
    nodes_part(b, call, &cut.nodes, "intra", COLLECTIVE_REDUCE_SCATTER,
               &(struct call){.source = source, .destination = own});
    on_intervals(b, call, &cut, COLLECTIVE_ALLREDUCE, allreduce_views, &call->destination);
    nodes_part(b, call, &cut.nodes, "intra", COLLECTIVE_ALLGATHER,
               &(struct call){.source = own, .destination = all});
}

static void ahc_allreduce(struct builder *b, const struct call *call)
{
    allreduce_cut(b, call, false);
}

static void ahc_broke_allreduce(struct builder *b, const struct call *call)
{
    allreduce_cut(b, call, true);
}

/* Reduce_scatter and allgather. A region is the blocks of one node's ranks. */

/* The element of a region at which unit x begins: inside the block of the unit's owner, in
 * proportion. */
static size_t region_at(const struct cut *cut, const struct view *region, long x)
{
    long share = cut->units / region->blocks;
    size_t at = 0;
    int block = 0;
    for (; block < region->blocks && x >= share * (block + 1); block++)
        at += message_length(view_block(region, block));
    if (block < region->blocks)
        at += scale(message_length(view_block(region, block)), x - share * block, share);
    return at;
}

/* `blocks` in the order of the nodes. */
static struct view region_of(const struct cut *cut, const struct view *blocks, int node)
{
    const struct shape *shape = cut->nodes.shape;
    return (struct view){blocks->messages + shape->start[node], shape_size(shape, node)};
}

/* Units [from, to) of every region: a block for each. */
static struct view regions_units(struct builder *b, const struct cut *cut,
                                 const struct view *blocks, long from, long to)
{
    int count = cut->nodes.count;
    struct message *parts = message_array(b, count);
    for (int a = 0; parts && a < count; a++) {
        struct view region = region_of(cut, blocks, a);
        size_t begin = region_at(cut, &region, from), end = region_at(cut, &region, to);
        parts[a] = message_part(b, view_all(b, &region), begin, end - begin);
    }
    return (struct view){parts, parts ? count : 0};
}

/* The shares of all ranks of this node, in all regions. */
static struct view regions_shares(struct builder *b, const struct cut *cut,
                                  const struct view *blocks)
{
    int each = cut->nodes.each;
    struct message *shares = message_array(b, each);
    for (int j = 0; shares && j < each; j++) {
        struct view parts =
            regions_units(b, cut, blocks, share_from(cut, j, each), share_from(cut, j + 1, each));
        shares[j] = view_all(b, &parts);
    }
    return (struct view){shares, shares ? each : 0};
}

/* The data of an interval: the regions by node, and this rank's block. */
struct regions {
    struct view blocks, own;
};

/* The part of this rank's block that is in an interval. */
static struct view own_part(struct builder *b, const struct cut *cut, const struct regions *regions,
                            const struct interval *interval)
{
    struct view region = region_of(cut, &regions->blocks, cut->nodes.node);
    size_t first = region_at(cut, &region, share_from(cut, cut->nodes.local_rank, cut->owners));
    size_t begin = region_at(cut, &region, interval->from);
    size_t end = region_at(cut, &region, interval->to);
    return view_of(b, message_part(b, view_all(b, &regions->own), begin - first, end - begin));
}

static void reduce_scatter_views(struct builder *b, const struct cut *cut, const void *context,
                                 const struct interval *interval, struct view *source,
                                 struct view *destination)
{
    const struct regions *regions = context;
    *source = regions_units(b, cut, &regions->blocks, interval->from, interval->to);
    *destination = own_part(b, cut, regions, interval);
}

static void ahc_reduce_scatter(struct builder *b, const struct call *call)
{
    struct cut cut = cut_of(b, call, false);
    struct view source = nodes_by_node(b, &cut.nodes, &call->source);
    struct view sums = view_scratch(b, &source);
    struct view shares = regions_shares(b, &cut, &source), kept = regions_shares(b, &cut, &sums);
    struct view own = view_of(b, view_block(&kept, cut.nodes.local_rank));
    struct regions regions = {.blocks = sums, .own = call->destination};
    nodes_part(b, call, &cut.nodes, "intra", COLLECTIVE_REDUCE_SCATTER,
               &(struct call){.source = shares, .destination = own});
    on_intervals(b, call, &cut, COLLECTIVE_REDUCE_SCATTER, reduce_scatter_views, &regions);
}

static void allgather_views(struct builder *b, const struct cut *cut, const void *context,
                            const struct interval *interval, struct view *source,
                            struct view *destination)
{
    const struct regions *regions = context;
    *source = own_part(b, cut, regions, interval);
    *destination = regions_units(b, cut, &regions->blocks, interval->from, interval->to);
}

static void ahc_allgather(struct builder *b, const struct call *call)
{
    struct cut cut = cut_of(b, call, false);
    struct view all = nodes_by_node(b, &cut.nodes, &call->destination);
    struct view shares = regions_shares(b, &cut, &all);
    struct view own = view_of(b, view_block(&shares, cut.nodes.local_rank));
    struct regions regions = {.blocks = all, .own = call->source};
    on_intervals(b, call, &cut, COLLECTIVE_ALLGATHER, allgather_views, &regions);
    nodes_part(b, call, &cut.nodes, "intra", COLLECTIVE_ALLGATHER,
               &(struct call){.source = own, .destination = shares});
}

const struct algorithm allreduce_ahc = {
    .name = "ahc",
    .aliases = {"asymmetric-hierarchical-concatenate"},
    .collectives = SERVES(ALLREDUCE),
    .grouped = true,
    .summary = "hierarchical for nodes of any sizes: each interval has one owner in every node",
    .rounds = "RS(M) + inter AR(G) + AG(M)",
    .sent = "2(GM-1)/(GM) n",
    .users = "HCCL",
    .options = {INTRA(SERVES(REDUCE_SCATTER) | SERVES(ALLGATHER), "nb"),
                INTER(SERVES(ALLREDUCE), "ring"), NODE_GROUPS},
    .refuses = ahc_refuses,
    .write = ahc_allreduce,
};

const struct algorithm allreduce_ahc_broke = {
    .name = "ahc-broke",
    .collectives = SERVES(ALLREDUCE),
    .grouped = true,
    .summary = "ahc with as many rails as the smallest node has ranks; other ranks are idle",
    .rounds = "RS(M) + inter AR(G) + AG(M)",
    .sent = "up to (2 + (G-2)/(G m)) n",
    .users = "HCCL",
    .options = {INTRA(SERVES(REDUCE_SCATTER) | SERVES(ALLGATHER), "ring"),
                INTER(SERVES(ALLREDUCE), "ring"), NODE_GROUPS},
    .refuses = ahc_refuses,
    .write = ahc_broke_allreduce,
};

const struct algorithm reduce_scatter_ahc = {
    .name = "ahc",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .grouped = true,
    .summary = "reduce_scatter of all regions in the node, then of each interval among its owners",
    .rounds = "RS(M) + inter RS(G)",
    .sent = "(p-1)b",
    .users = "HCCL",
    .options = {INTRA(SERVES(REDUCE_SCATTER), "nb"), INTER(SERVES(REDUCE_SCATTER), "ring"),
                NODE_GROUPS},
    .refuses = ahc_refuses,
    .write = ahc_reduce_scatter,
};

const struct algorithm allgather_ahc = {
    .name = "ahc",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .grouped = true,
    .summary = "allgather of each interval among its owners, then of all regions in the node",
    .rounds = "inter AG(G) + AG(M)",
    .sent = "up to (p - m/M) b, with rings between the nodes",
    .users = "HCCL",
    .options = {INTRA(SERVES(ALLGATHER), "nb"), INTER(SERVES(ALLGATHER), "ring"), NODE_GROUPS},
    .refuses = ahc_refuses,
    .write = ahc_allgather,
};
