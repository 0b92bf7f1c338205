/*
 * pipeline.c - both levels at once: a block that arrives over the slow links in one step is spread
 * over the fast ones in the next, while the slow ones carry other blocks.
 *
 *                 step t              rails form rings: (a,i) -> (a+1,i)
 *   (a-1,i) ==> [ (a,i) ] ==> (a+1,i)     inter: its block of step t-1
 *                  / | \
 *            (a,0)(a,1)(a,2)              intra: the same, to all ranks of the node
 *
 * N nodes of L ranks; (a,i) is local rank i of node a, and its block. N steps. The time inside the
 * nodes overlaps with the rings between them.
 *
 *   reduce_scatter  (N-1)b between nodes, N(L-1)b inside. Step t combines blocks of node B = a+1+t:
 *                   (a,j) adds the blocks (B,j) of all ranks of its node to the sum of
 *                   (B,j) from node a+1, which makes its next hop in step t+1.
 *   allgather       the reverse: blocks go round the rails, and each is spread on arrival
 *   allreduce       reduce_scatter, then allgather; 2N steps
 *   alltoall        N steps, (N-1)L b between nodes, N(L-1)b inside. Step k sends the L blocks for
 *                   all ranks of node a+1+k over the rail, and spreads the blocks from node a-k
 *
 * Each block on its way has its own memory, so no operation waits for memory to become free.
 * Scratch: reduce_scatter (N-1)b, alltoall (N-1)(L-1)b; the others need none.
 *
 * Used by: HCCL (pipeline); NCCL's symmetric rail ring has the same shape. Source: HCCL's
 * all_gather_pipeline, reduce_scatter_pipeline, alltoall_pipeline_mesh_pairwise.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

static const char *pipeline_refuses(const struct problem *problem, const struct choice *choice,
                                    char *why, size_t size)
{
    (void)choice;
    return nodes_uneven(problem, why, size);
}

/* Node a + `steps` on the ring of nodes. */
static int node_at(const struct nodes *nodes, int steps)
{
    int node = (nodes->node + steps) % nodes->count;
    return node < 0 ? node + nodes->count : node;
}

/* The rank with this local rank, `steps` nodes ahead. */
static int rail_peer(const struct nodes *nodes, int steps)
{
    return shape_rank(nodes->shape, node_at(nodes, steps), nodes->local_rank);
}

static int node_peer(const struct nodes *nodes, int local_rank)
{
    return shape_rank(nodes->shape, nodes->node, local_rank % nodes->each);
}

/* The block of a local rank (taken modulo L) of a node, among blocks in rank order. */
static struct message block_of(const struct nodes *nodes, const struct view *blocks, int node,
                               int local_rank)
{
    return view_block(blocks, shape_rank(nodes->shape, node, local_rank % nodes->each));
}

/* Block r of `partial` becomes, on rank r, the combination of all ranks' block r of `source`. */
static void combine(struct builder *b, const struct group *g, const struct nodes *nodes,
                    const struct view *source, const struct view *partial)
{
    struct message before = {0};
    for (int t = 0; t < nodes->count; t++) {
        int target = node_at(nodes, t + 1);
        struct message sum = block_of(nodes, source, target, nodes->local_rank);
        struct message to = block_of(nodes, partial, target, nodes->local_rank);
        put_step(b, g);
        if (t > 0)
            put_send(b, g, rail_peer(nodes, -1), before);
        for (int k = 1; k < nodes->each; k++) {
            int local_rank = nodes->local_rank + k;
            put_send(b, g, node_peer(nodes, local_rank),
                     block_of(nodes, source, target, local_rank));
        }
        for (int k = 1; k < nodes->each; k++) {
            put_recv_reduce(b, g, node_peer(nodes, nodes->local_rank + nodes->each - k), to, sum);
            sum = to;
        }
        if (t > 0)
            put_recv_reduce(b, g, rail_peer(nodes, 1), to, sum);
        before = t > 0 ? to : sum;
    }
}

/* Before: rank r has block r of `all`. Afterwards every rank has all blocks. */
static void spread(struct builder *b, const struct group *g, const struct nodes *nodes,
                   const struct view *all)
{
    for (int t = 0; t < nodes->count; t++) {
        int here = node_at(nodes, -t), coming = node_at(nodes, -1 - t);
        put_step(b, g);
        if (t < nodes->count - 1) {
            put_send(b, g, rail_peer(nodes, 1), block_of(nodes, all, here, nodes->local_rank));
            put_recv(b, g, rail_peer(nodes, -1), block_of(nodes, all, coming, nodes->local_rank));
        }
        for (int k = 1; k < nodes->each; k++) {
            int local_rank = nodes->local_rank + nodes->each - k;
            put_send(b, g, node_peer(nodes, nodes->local_rank + k),
                     block_of(nodes, all, here, nodes->local_rank));
            put_recv(b, g, node_peer(nodes, local_rank), block_of(nodes, all, here, local_rank));
        }
    }
}

static void pipeline_reduce_scatter(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    struct message own = view_all(b, &call->destination);
    struct view partial = view_apart(b, call->group, &call->source, own);
    if (call->group->size == 1)
        put_copy(b, call->group, own, view_block(&call->source, 0));
    combine(b, call->group, &nodes, &call->source, &partial);
}

static void pipeline_allgather(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    put_copy(b, call->group, view_block(&call->destination, call->group->rank),
             view_all(b, &call->source));
    spread(b, call->group, &nodes, &call->destination);
}

static void pipeline_allreduce(struct builder *b, const struct call *call)
{
    struct nodes nodes = nodes_of(b, call);
    int p = call->group->size;
    struct view source = view_cut(b, &call->source, p), all = view_cut(b, &call->destination, p);
    if (p == 1)
        put_copy(b, call->group, view_all(b, &all), view_all(b, &source));
    combine(b, call->group, &nodes, &source, &all);
    spread(b, call->group, &nodes, &all);
}

/* Alltoall. */

/* Where the L blocks from `from` for the ranks of this node lie on this rank: the one for this rank
 * in the destination, the others in scratch. */
static struct view passing_blocks(struct builder *b, const struct call *call,
                                  const struct nodes *nodes, int from)
{
    struct message *messages = message_array(b, nodes->each);
    for (int j = 0; messages && j < nodes->each; j++) {
        int to = shape_rank(nodes->shape, nodes->node, j);
        if (j == nodes->local_rank) {
            messages[j] = view_block(&call->destination, from);
        } else {
            struct view area = view_scratch_block(b, call_length(call, from, to));
            messages[j] = view_all(b, &area);
        }
    }
    return (struct view){messages, messages ? nodes->each : 0};
}

static struct view blocks_for_node(struct builder *b, const struct nodes *nodes,
                                   const struct view *source, int node)
{
    return view_select(b, source, nodes->shape->members + nodes->shape->start[node], nodes->each);
}

static void pipeline_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct nodes nodes = nodes_of(b, call);
    struct view source = view_source_apart(b, call);
    struct view here = blocks_for_node(b, &nodes, &source, nodes.node); /* step k spreads these */
    put_copy(b, g, view_block(&call->destination, g->rank), view_block(&source, g->rank));
    for (int k = 0; k < nodes.count; k++) {
        int origin = node_at(&nodes, -k);
        struct view coming = {0};
        put_step(b, g);
        if (k < nodes.count - 1) {
            int from = rail_peer(&nodes, -1 - k), to = node_at(&nodes, 1 + k);
            struct view going = blocks_for_node(b, &nodes, &source, to);
            coming = passing_blocks(b, call, &nodes, from);
            put_send(b, g, rail_peer(&nodes, 1 + k), view_all(b, &going));
            put_recv(b, g, from, view_all(b, &coming));
        }
        for (int j = 1; j < nodes.each; j++) {
            int to = nodes.local_rank + j, from = nodes.local_rank + nodes.each - j;
            put_send(b, g, node_peer(&nodes, to), view_block(&here, to));
            put_recv(b, g, node_peer(&nodes, from),
                     block_of(&nodes, &call->destination, origin, from));
        }
        here = coming;
    }
}

const struct algorithm allreduce_pipeline = {
    .name = "pipeline",
    .collectives = SERVES(ALLREDUCE),
    .grouped = true,
    .summary = "pipelined reduce_scatter, then pipelined allgather, over both levels at once",
    .rounds = "2N",
    .sent = "2(N-1)b + 2N(L-1)b",
    .users = "HCCL",
    .options = {NODE_GROUPS},
    .refuses = pipeline_refuses,
    .write = pipeline_allreduce,
};

const struct algorithm reduce_scatter_pipeline = {
    .name = "pipeline",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .grouped = true,
    .summary = "sums travel round the rails while the next ones are made in the nodes",
    .rounds = "N",
    .sent = "(N-1)b + N(L-1)b",
    .users = "HCCL",
    .options = {NODE_GROUPS},
    .refuses = pipeline_refuses,
    .write = pipeline_reduce_scatter,
};

const struct algorithm allgather_pipeline = {
    .name = "pipeline",
    .aliases = {"rail-ring"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .grouped = true,
    .summary = "blocks travel round the rails, and each is spread in the node on arrival",
    .rounds = "N",
    .sent = "(N-1)b + N(L-1)b",
    .users = "HCCL, NCCL (symmetric)",
    .options = {NODE_GROUPS},
    .refuses = pipeline_refuses,
    .write = pipeline_allgather,
};

const struct algorithm alltoall_pipeline = {
    .name = "pipeline",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .grouped = true,
    .summary = "blocks for a whole node over the rail, spread there while the next ones arrive",
    .rounds = "N",
    .sent = "(N-1)L b + N(L-1)b",
    .users = "HCCL",
    .options = {NODE_GROUPS},
    .refuses = pipeline_refuses,
    .write = pipeline_alltoall,
};
