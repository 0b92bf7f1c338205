/*
 * hier.c - hierarchical collectives: any algorithm inside the nodes, any other one between them.
 *
 *   local rank 0      1      2           intra: inside a node, over the fast links
 *   node 0    [0]----[1]----[2]          inter: along a rail (the ranks with one local rank), over
 *              |      |      |           the slow links; all rails at the same time, each with its
 *   node 1    [3]----[4]----[5]          share of the data
 *
 * N nodes of L ranks. `hier` splits the data over the rails, so that every network card carries
 * 1/L of it:
 *
 *   allreduce        reduce_scatter in the node, allreduce on the rail, allgather in the node
 *   reduce_scatter   on the rail (whole node blocks), then in the node; or the other way round
 *   allgather        in the node, then on the rail; or the other way round
 *   broadcast        scatter in the root's node, broadcast on every rail, allgather in the nodes
 *   reduce           reduce_scatter in the nodes, reduce on every rail, gather in the root's node
 *   scatter          node blocks along the root's rail, then in the nodes
 *   gather           in the nodes, then node blocks along the root's rail
 *
 * In `hier-leader` one rank of each node is its leader: reduce in the node to its leader, the
 * collective among the leaders, broadcast in the node. Nodes may differ in size, and leaders in
 * their local ranks: on the diagonal of 4 x 4 they are the ranks 3, 6, 9 and 12.
 *
 * Rounds, volume and scratch are those of the parts. For the busiest rank, with the standard parts,
 * q = ceil(log2 N) and i = ceil(log2 L):
 *
 *   hier             rounds         sent                             scratch
 *   allreduce        2 + 2(N-1)     2(L-1)/L n + 2(N-1)/(NL) n       0
 *   reduce_scatter   N              (N-1)L b + (L-1)b                (N-1)L b
 *     first=intra    N              (L-1)N b + (N-1)b                2(N-1)b
 *   allgather        N              (L-1)b + (N-1)L b                0
 *     first=inter    N              (N-1)b + (L-1)N b                0
 *   broadcast        2(L-1) + q     (2(L-1) + q) n/L                 (L-2)/L n
 *   reduce           2(L-1) + q     2(L-1)/L n                       up to (2L-3)/L n
 *   scatter          q + 1          (N-1)L b + (L-1)b                up to N/2 L b
 *   gather           1 + q          up to N/2 L b                    up to N/2 L b
 *
 *   hier-leader
 *   allreduce        2i + 2(N-1)    i n + 2(N-1)/N n                 up to n
 *   broadcast        q + i          (q + i) n                        0
 *   reduce           i + q          n                                up to 2n
 *
 * Used by: HCCL (all of `hier`, with mesh or ring inside and ring, NHR or NB between), UCC
 * (split_rail; rab and 2step), MPICH (smp), MSCCL. Source: Cho, Finkler, Serrano, Kung, Hunter,
 * "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network hierarchy", 2019.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

/* hier needs nodes of one size, and parts that serve them. */
static const char *hier_refuses(const struct problem *problem, const struct choice *choice,
                                char *why, size_t size)
{
    static const char *const parts[] = {"intra", "inter"};
    const char *refusal = nodes_uneven(problem, why, size);
    int ranks[] = {shape_size(problem->shape, 0), problem->shape->groups};
    for (int i = 0; !refusal && i < 2; i++)
        refusal = part_refuses(choice, parts[i], ranks[i], why, size);
    return refusal;
}

static void hier_allreduce(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    struct group rail = nodes_rail(b, call->group, &nodes, nodes.local_rank);
    struct view source = view_cut(b, &call->source, nodes.each);
    struct view all = view_cut(b, &call->destination, nodes.each);
    struct view own = view_of(b, view_block(&all, nodes.local_rank));
    call_part(b, call, "intra", COLLECTIVE_REDUCE_SCATTER,
              &(struct call){.group = &nodes.own, .source = source, .destination = own});
    call_part(b, call, "inter", COLLECTIVE_ALLREDUCE,
              &(struct call){.group = &rail, .source = own, .destination = own});
    call_part(b, call, "intra", COLLECTIVE_ALLGATHER,
              &(struct call){.group = &nodes.own, .source = own, .destination = all});
}

/* One stage of two: a part, and the group that runs it. */
struct stage {
    const char *part;
    const struct group *group;
};

/* reduce_scatter in two stages: `outer` with bundles of `source`, a bundle for each rank of
 * outer.group; then `inner` with the blocks of this rank's bundle. */
static void combine_twice(struct builder *b, const struct call *call, struct view source,
                          struct stage outer, struct stage inner)
{
    int each = inner.group->size;
    struct view bundles = view_bundle(b, &source, each);
    struct view mine = {source.messages + outer.group->rank * each, each};
    struct view kept = view_scratch(b, &mine);
    struct view whole = view_of(b, view_all(b, &kept));
    call_part(b, call, outer.part, COLLECTIVE_REDUCE_SCATTER,
              &(struct call){.group = outer.group, .source = bundles, .destination = whole});
    call_part(
        b, call, inner.part, COLLECTIVE_REDUCE_SCATTER,
        &(struct call){.group = inner.group, .source = kept, .destination = call->destination});
}

static void hier_reduce_scatter(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    struct group rail = nodes_rail(b, call->group, &nodes, nodes.local_rank);
    struct stage intra = {"intra", &nodes.own}, inter = {"inter", &rail};
    if (call_option(call, "first") == 0)
        combine_twice(b, call, nodes_by_node(b, &nodes, &call->source), inter, intra);
    else
        combine_twice(b, call, nodes_by_local_rank(b, &nodes, &call->source), intra, inter);
}

/* allgather in two stages: `inner` with the blocks of this rank's bundle of `all`; then `outer`
 * with whole bundles. */
static void gather_twice(struct builder *b, const struct call *call, struct view all,
                         struct stage inner, struct stage outer)
{
    int each = inner.group->size;
    struct view bundles = view_bundle(b, &all, each);
    struct view mine = {all.messages + outer.group->rank * each, each};
    struct view whole = view_of(b, view_block(&bundles, outer.group->rank));
    call_part(b, call, inner.part, COLLECTIVE_ALLGATHER,
              &(struct call){.group = inner.group, .source = call->source, .destination = mine});
    call_part(b, call, outer.part, COLLECTIVE_ALLGATHER,
              &(struct call){.group = outer.group, .source = whole, .destination = bundles});
}

static void hier_allgather(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    struct group rail = nodes_rail(b, call->group, &nodes, nodes.local_rank);
    struct stage intra = {"intra", &nodes.own}, inter = {"inter", &rail};
    if (call_option(call, "first") == 0)
        gather_twice(b, call, nodes_by_node(b, &nodes, &call->destination), intra, inter);
    else
        gather_twice(b, call, nodes_by_local_rank(b, &nodes, &call->destination), inter, intra);
}

static void hier_broadcast(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    const struct shape *shape = nodes.shape;
    int root_node = shape->group[call->root], root_local = shape->local_rank[call->root];
    struct group root_group = nodes_group(b, call->group, &nodes, root_node);
    struct group rail = nodes_rail(b, call->group, &nodes, nodes.local_rank);
    struct view all = view_cut(b, &call->destination, nodes.each);
    struct view own = view_of(b, view_block(&all, nodes.local_rank));
    bool is_root = call->group->rank == call->root;
    struct view source = is_root ? view_cut(b, &call->source, nodes.each) : all;
    call_part(b, call, "intra", COLLECTIVE_SCATTER,
              &(struct call){
                  .group = &root_group, .source = source, .destination = own, .root = root_local});
    call_part(b, call, "inter", COLLECTIVE_BROADCAST,
              &(struct call){.group = &rail, .source = own, .destination = own, .root = root_node});
    call_part(b, call, "intra", COLLECTIVE_ALLGATHER,
              &(struct call){.group = &nodes.own, .source = own, .destination = all});
}

static void hier_reduce(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    const struct shape *shape = nodes.shape;
    int root_node = shape->group[call->root], root_local = shape->local_rank[call->root];
    struct group root_group = nodes_group(b, call->group, &nodes, root_node);
    struct group rail = nodes_rail(b, call->group, &nodes, nodes.local_rank);
    struct view source = view_cut(b, &call->source, nodes.each);
    bool is_root = call->group->rank == call->root;
    struct view all =
        is_root ? view_cut(b, &call->destination, nodes.each) : view_scratch(b, &source);
    struct view own = view_of(b, view_block(&all, nodes.local_rank));
    call_part(b, call, "intra", COLLECTIVE_REDUCE_SCATTER,
              &(struct call){.group = &nodes.own, .source = source, .destination = own});
    call_part(b, call, "inter", COLLECTIVE_REDUCE,
              &(struct call){.group = &rail, .source = own, .destination = own, .root = root_node});
    call_part(b, call, "intra", COLLECTIVE_GATHER,
              &(struct call){
                  .group = &root_group, .source = own, .destination = all, .root = root_local});
}

/* Where a rank of the root's rail holds its node's blocks: the root in its buffer, the others in
 * scratch. */
static struct view node_blocks(struct builder *b, const struct call *call,
                               const struct nodes *nodes, const struct view *blocks)
{
    struct view mine = {blocks->messages + nodes->shape->start[nodes->node], nodes->each};
    return call->group->rank == call->root ? mine : view_scratch(b, &mine);
}

static void hier_scatter(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    int root_node = nodes.shape->group[call->root],
        root_local = nodes.shape->local_rank[call->root];
    struct group rail = nodes_rail(b, call->group, &nodes, root_local);
    struct view blocks = nodes_by_node(b, &nodes, &call->source);
    struct view bundles = view_bundle(b, &blocks, nodes.each);
    struct view mine = node_blocks(b, call, &nodes, &blocks);
    struct view whole = view_of(b, view_all(b, &mine));
    call_part(
        b, call, "inter", COLLECTIVE_SCATTER,
        &(struct call){.group = &rail, .source = bundles, .destination = whole, .root = root_node});
    call_part(b, call, "intra", COLLECTIVE_SCATTER,
              &(struct call){.group = &nodes.own,
                             .source = mine,
                             .destination = call->destination,
                             .root = root_local});
}

static void hier_gather(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    int root_node = nodes.shape->group[call->root],
        root_local = nodes.shape->local_rank[call->root];
    struct group rail = nodes_rail(b, call->group, &nodes, root_local);
    struct view blocks = nodes_by_node(b, &nodes, &call->destination);
    struct view bundles = view_bundle(b, &blocks, nodes.each);
    struct view mine = node_blocks(b, call, &nodes, &blocks);
    struct view whole = view_of(b, view_all(b, &mine));
    call_part(
        b, call, "intra", COLLECTIVE_GATHER,
        &(struct call){
            .group = &nodes.own, .source = call->source, .destination = mine, .root = root_local});
    call_part(
        b, call, "inter", COLLECTIVE_GATHER,
        &(struct call){.group = &rail, .source = whole, .destination = bundles, .root = root_node});
}

/* Leaders. */

static void leader_allreduce(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    int leader = call_option(call, "leader") == 0 ? 0 : DIAGONAL;
    struct group leaders = nodes_rail(b, call->group, &nodes, leader);
    struct view all = call->destination;
    nodes_part(b, call, &nodes, "intra", COLLECTIVE_REDUCE,
               &(struct call){.source = call->source, .destination = all, .root = leader});
    call_part(b, call, "inter", COLLECTIVE_ALLREDUCE,
              &(struct call){.group = &leaders, .source = all, .destination = all});
    nodes_part(b, call, &nodes, "intra", COLLECTIVE_BROADCAST,
               &(struct call){.source = all, .destination = all, .root = leader});
}

/* The root leads its node; the other leaders have the same local rank. */
static void leader_broadcast(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    int leader = nodes.shape->local_rank[call->root];
    struct group leaders = nodes_rail(b, call->group, &nodes, leader);
    struct view source = call->group->rank == call->root ? call->source : call->destination;
    call_part(b, call, "inter", COLLECTIVE_BROADCAST,
              &(struct call){.group = &leaders,
                             .source = source,
                             .destination = call->destination,
                             .root = nodes.shape->group[call->root]});
    nodes_part(b, call, &nodes, "intra", COLLECTIVE_BROADCAST,
               &(struct call){.source = source, .destination = call->destination, .root = leader});
}

static void leader_reduce(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    int leader = nodes.shape->local_rank[call->root];
    struct group leaders = nodes_rail(b, call->group, &nodes, leader);
    struct view sum =
        call->group->rank == call->root ? call->destination : view_scratch(b, &call->source);
    nodes_part(b, call, &nodes, "intra", COLLECTIVE_REDUCE,
               &(struct call){.source = call->source, .destination = sum, .root = leader});
    call_part(b, call, "inter", COLLECTIVE_REDUCE,
              &(struct call){.group = &leaders,
                             .source = sum,
                             .destination = sum,
                             .root = nodes.shape->group[call->root]});
}

static const char *const first_of_reduce_scatter[] = {"inter", "intra", NULL};
static const char *const first_of_allgather[] = {"intra", "inter", NULL};
static const char *const leader_words[] = {"first", "diagonal", NULL};

const struct algorithm allreduce_hier = {
    .name = "hier",
    .aliases = {"rs-ar-ag", "split-rail", "blueconnect"},
    .collectives = SERVES(ALLREDUCE),
    .grouped = true,
    .summary = "reduce_scatter in the node, allreduce on every rail, allgather in the node",
    .rounds = "RS(L) + inter AR(N) + AG(L)",
    .sent = "2(p-1)b in all, 2(N-1)/N n/L between nodes",
    .users = "HCCL, UCC (split_rail), MSCCL, BlueConnect",
    .options = {INTRA(SERVES(REDUCE_SCATTER) | SERVES(ALLGATHER), "mesh"),
                INTER(SERVES(ALLREDUCE), "ring"), NODE_GROUPS},
    .refuses = hier_refuses,
    .write = hier_allreduce,
};

const struct algorithm reduce_scatter_hier = {
    .name = "hier",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .grouped = true,
    .summary = "reduce_scatter of node blocks on every rail, then in the node",
    .rounds = "inter RS(N) + RS(L)",
    .sent = "(N-1)L b + (L-1)b; first=intra: (L-1)N b + (N-1)b",
    .users = "HCCL",
    .options = {INTRA(SERVES(REDUCE_SCATTER), "mesh"),
                INTER(SERVES(REDUCE_SCATTER), "ring"),
                NODE_GROUPS,
                {.name = "first",
                 .kind = OPTION_WORD,
                 .words = first_of_reduce_scatter,
                 .help = "which stage comes first"}},
    .refuses = hier_refuses,
    .write = hier_reduce_scatter,
};

const struct algorithm allgather_hier = {
    .name = "hier",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .grouped = true,
    .summary = "allgather in the node, then of node blocks on every rail",
    .rounds = "AG(L) + inter AG(N)",
    .sent = "(L-1)b + (N-1)L b; first=inter: (N-1)b + (L-1)N b",
    .users = "HCCL",
    .options = {INTRA(SERVES(ALLGATHER), "mesh"),
                INTER(SERVES(ALLGATHER), "ring"),
                NODE_GROUPS,
                {.name = "first",
                 .kind = OPTION_WORD,
                 .words = first_of_allgather,
                 .help = "which stage comes first"}},
    .refuses = hier_refuses,
    .write = hier_allgather,
};

const struct algorithm broadcast_hier = {
    .name = "hier",
    .collectives = SERVES(BROADCAST),
    .grouped = true,
    .summary = "scatter in the root's node, broadcast on every rail, allgather in the nodes",
    .rounds = "scatter(L) + inter broadcast(N) + AG(L)",
    .sent = "n/L for each hop between nodes",
    .users = "HCCL",
    .options = {INTRA(SERVES(SCATTER) | SERVES(ALLGATHER), "ring"),
                INTER(SERVES(BROADCAST), "binomial"), NODE_GROUPS},
    .refuses = hier_refuses,
    .write = hier_broadcast,
};

const struct algorithm reduce_hier = {
    .name = "hier",
    .collectives = SERVES(REDUCE),
    .grouped = true,
    .summary = "reduce_scatter in the nodes, reduce on every rail, gather in the root's node",
    .rounds = "RS(L) + inter reduce(N) + gather(L)",
    .sent = "n/L for each hop between nodes",
    .users = "HCCL",
    .options = {INTRA(SERVES(REDUCE_SCATTER) | SERVES(GATHER), "ring"),
                INTER(SERVES(REDUCE), "binomial"), NODE_GROUPS},
    .refuses = hier_refuses,
    .write = hier_reduce,
};

const struct algorithm scatter_hier = {
    .name = "hier",
    .collectives = SERVES(SCATTER) | SERVES(SCATTERV),
    .grouped = true,
    .summary = "scatter of node blocks along the root's rail, then in the nodes",
    .rounds = "inter scatter(N) + scatter(L)",
    .sent = "(N-1)L b + (L-1)b",
    .users = "HCCL",
    .options = {INTRA(SERVES(SCATTER), "linear"), INTER(SERVES(SCATTER), "binomial"), NODE_GROUPS},
    .refuses = hier_refuses,
    .write = hier_scatter,
};

const struct algorithm gather_hier = {
    .name = "hier",
    .collectives = SERVES(GATHER) | SERVES(GATHERV),
    .grouped = true,
    .summary = "gather in the nodes, then of node blocks along the root's rail",
    .rounds = "gather(L) + inter gather(N)",
    .sent = "up to N/2 L b with binomial trees",
    .users = "HCCL",
    .options = {INTRA(SERVES(GATHER), "linear"), INTER(SERVES(GATHER), "binomial"), NODE_GROUPS},
    .refuses = hier_refuses,
    .write = hier_gather,
};

const struct algorithm allreduce_hier_leader = {
    .name = "hier-leader",
    .aliases = {"reduce-ar-bcast", "rab", "smp", "2step"},
    .collectives = SERVES(ALLREDUCE),
    .grouped = true,
    .summary = "reduce to a leader of each node, allreduce among the leaders, broadcast",
    .rounds = "reduce(L) + inter AR(N) + broadcast(L)",
    .sent = "leaders 2(N-1)/N n between nodes",
    .users = "UCC (rab), MPICH (smp), HCCL (4 x 4)",
    .options = {INTRA(SERVES(REDUCE) | SERVES(BROADCAST), "binomial"),
                INTER(SERVES(ALLREDUCE), "ring"),
                NODE_GROUPS,
                {.name = "leader",
                 .kind = OPTION_WORD,
                 .words = leader_words,
                 .help = "the leader of a node: its first rank, or the one on the diagonal"}},
    .refuses = nodes_parts_refuse,
    .write = leader_allreduce,
};

const struct algorithm broadcast_hier_leader = {
    .name = "hier-leader",
    .aliases = {"smp", "2step"},
    .collectives = SERVES(BROADCAST),
    .grouped = true,
    .summary = "broadcast to a leader of each node, then in the nodes",
    .rounds = "inter broadcast(N) + broadcast(L)",
    .sent = "n for each hop",
    .users = "MPICH (smp), UCC (2step)",
    .options = {INTRA(SERVES(BROADCAST), "binomial"), INTER(SERVES(BROADCAST), "binomial"),
                NODE_GROUPS},
    .refuses = nodes_parts_refuse,
    .write = leader_broadcast,
};

const struct algorithm reduce_hier_leader = {
    .name = "hier-leader",
    .aliases = {"smp", "2step"},
    .collectives = SERVES(REDUCE),
    .grouped = true,
    .summary = "reduce to a leader of each node, then among the leaders",
    .rounds = "reduce(L) + inter reduce(N)",
    .sent = "n",
    .users = "MPICH (smp), UCC (2step)",
    .options = {INTRA(SERVES(REDUCE), "binomial"), INTER(SERVES(REDUCE), "binomial"), NODE_GROUPS},
    .refuses = nodes_parts_refuse,
    .write = leader_reduce,
};
