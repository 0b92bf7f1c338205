/*
 * staged.c - alltoall in stages, so that few and large messages go between the nodes.
 *
 * N nodes of L ranks; (a,i) is local rank i of node a. Without stages a rank sends (N-1)L messages
 * of one block over the slow links.
 *
 *   staged      1. inside: (a,i) sends (a,j) its N blocks for local rank j of all nodes
 *               2. between: (a,j) sends (c,j) the L blocks of its node for it. N-1 messages of L
 *                  blocks a rank, always between equal local ranks ("rail aligned").
 *
 *       (a,i) --> (a,j) ==> (c,j)        L-1 + N-1 rounds; sent N(L-1)b + L(N-1)b
 *
 *   hier-relay  1. (a,i) sends its L blocks for node c to the rank of its node that relays to c
 *               2. one message of L*L blocks from relay to relay
 *               3. the relay spreads them
 *
 *       (a,i) --> relay(a,c) ==> relay(c,a) --> (c,j)      3 rounds; few and very large messages
 *
 * Blocks inside a node go direct. Blocks on their way lie in scratch, each in its own memory:
 * (N-1)(L-1) blocks for staged; for hier-relay 2(L^2 - L) for each node that a rank relays to, of
 * which there are at most ceil((N-1)/L). In place n more.
 *
 * Used by: staged HCCL, MSCCL (two-step), NCCL's PXN is its first stage; relay MSCCL (three-step).
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

static const char *staged_refuses(const struct problem *problem, const struct choice *choice,
                                  char *why, size_t size)
{
    (void)choice;
    return nodes_uneven(problem, why, size);
}

static int rank_at(const struct nodes *nodes, int node, int local_rank)
{
    return shape_rank(nodes->shape, node, local_rank);
}

/* The call, as seen from this rank's node. */
struct staged {
    const struct call *call;
    struct nodes nodes;
    struct view source; /* apart from the destination */
};

static struct staged staged_of(struct builder *b, const struct call *call)
{
    return (struct staged){call, nodes_of(b, call), view_source_apart(b, call)};
}

/* Where the block from `from` to `to` lies on this rank on its way: in the source if it begins
 * here, in the destination if it ends here, else in scratch. */
static struct message block_passing(struct builder *b, const struct staged *s, int from, int to)
{
    const struct call *call = s->call;
    if (from == call->group->rank)
        return view_block(&s->source, to);
    if (to == call->group->rank)
        return view_block(&call->destination, from);
    struct view area = view_scratch_block(b, call_length(call, from, to));
    return view_all(b, &area);
}

/* Staged. held[h * N + c]: the block of (a,h) for node c and this local rank, on this rank. */

static void staged_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct staged s = staged_of(b, call);
    const struct nodes *nodes = &s.nodes;
    int N = nodes->count, L = nodes->each, local = nodes->local_rank;
    struct message *held = message_array(b, N * L), *going = message_array(b, N > L ? N : L);
    if (!held || !going)
        return;
    for (int h = 0; h < L; h++)
        for (int c = 0; c < N; c++)
            held[h * N + c] =
                block_passing(b, &s, rank_at(nodes, nodes->node, h), rank_at(nodes, c, local));
    put_copy(b, g, view_block(&call->destination, g->rank), view_block(&s.source, g->rank));
    for (int k = 1; k < L; k++) {
        int to = (local + k) % L, from = (local + L - k) % L;
        for (int c = 0; c < N; c++)
            going[c] = view_block(&s.source, rank_at(nodes, c, to));
        put_step(b, g);
        put_send(b, g, rank_at(nodes, nodes->node, to), message_join(b, going, N));
        put_recv(b, g, rank_at(nodes, nodes->node, from), message_join(b, held + from * N, N));
        put_fence(b, g);
    }
    for (int k = 1; k < N; k++) {
        int to = (nodes->node + k) % N, from = (nodes->node + N - k) % N;
        put_step(b, g);
        for (int h = 0; h < L; h++)
            going[h] = held[h * N + to];
        put_send(b, g, rank_at(nodes, to, local), message_join(b, going, L));
        for (int h = 0; h < L; h++)
            going[h] = view_block(&call->destination, rank_at(nodes, from, h));
        put_recv(b, g, rank_at(nodes, from, local), message_join(b, going, L));
        put_fence(b, g);
    }
}

/* Relayed. */

/* The local rank of node `a` that relays to node `c`. */
static int relay_of(const struct nodes *nodes, int a, int c)
{
    return (a > c ? c : c - 1) % nodes->each;
}

/* Does this rank relay to node `c`, another node? */
static bool relays_to(const struct nodes *nodes, int c)
{
    return c != nodes->node && relay_of(nodes, nodes->node, c) == nodes->local_rank;
}

/* All blocks from node `from` to node `to`, sender by sender, as they lie on this rank. */
static void node_blocks(struct builder *b, const struct staged *s, int from, int to,
                        struct message *blocks)
{
    const struct nodes *nodes = &s->nodes;
    int L = nodes->each;
    for (int i = 0; i < L * L; i++)
        blocks[i] = block_passing(b, s, rank_at(nodes, from, i / L), rank_at(nodes, to, i % L));
}

/* 1: this rank's blocks for node c go to its relay; the relay collects. */
static void relay_collect(struct builder *b, const struct staged *s, int c,
                          const struct message *collected)
{
    const struct group *g = s->call->group;
    const struct nodes *nodes = &s->nodes;
    int L = nodes->each, relay = relay_of(nodes, nodes->node, c);
    for (int k = 1; k < L; k++) {
        int other = (nodes->local_rank + k) % L;
        if (relay == other) {
            struct view mine =
                view_select(b, &s->source, nodes->shape->members + nodes->shape->start[c], L);
            put_send(b, g, rank_at(nodes, nodes->node, relay), view_all(b, &mine));
        }
        if (relay == nodes->local_rank)
            put_recv(b, g, rank_at(nodes, nodes->node, other),
                     message_join(b, collected + other * L, L));
    }
}

/* 3: a relay spreads the blocks from node c; the others receive theirs. */
static void relay_spread(struct builder *b, const struct staged *s, int c,
                         const struct message *arrived)
{
    const struct group *g = s->call->group;
    const struct nodes *nodes = &s->nodes;
    int L = nodes->each, relay = relay_of(nodes, nodes->node, c);
    struct message *blocks = message_array(b, L);
    for (int k = 1; blocks && k < L; k++) {
        int other = (nodes->local_rank + k) % L;
        for (int i = 0; relay == nodes->local_rank && i < L; i++)
            blocks[i] = arrived[i * L + other];
        if (relay == nodes->local_rank)
            put_send(b, g, rank_at(nodes, nodes->node, other), message_join(b, blocks, L));
        for (int i = 0; relay == other && i < L; i++)
            blocks[i] = view_block(&s->call->destination, rank_at(nodes, c, i));
        if (relay == other)
            put_recv(b, g, rank_at(nodes, nodes->node, relay), message_join(b, blocks, L));
    }
}

static void relay_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct staged s = staged_of(b, call);
    const struct nodes *nodes = &s.nodes;
    int N = nodes->count, L = nodes->each, a = nodes->node;
    struct message *collected = message_array(b, N * L * L); /* by relays, L * L for each node */
    struct message *arrived = message_array(b, N * L * L);
    if (!collected || !arrived)
        return;
    put_copy(b, g, view_block(&call->destination, g->rank), view_block(&s.source, g->rank));
    put_step(b, g);
    for (int k = 1; k < L; k++) { /* inside the node: direct */
        int to = rank_at(nodes, a, (nodes->local_rank + k) % L);
        int from = rank_at(nodes, a, (nodes->local_rank + L - k) % L);
        put_send(b, g, to, view_block(&s.source, to));
        put_recv(b, g, from, view_block(&call->destination, from));
    }
    for (int c = 0; c < N; c++) {
        if (relays_to(nodes, c)) {
            node_blocks(b, &s, a, c, collected + c * L * L);
            node_blocks(b, &s, c, a, arrived + c * L * L);
        }
        if (c != a)
            relay_collect(b, &s, c, collected + c * L * L);
    }
    put_step(b, g);
    for (int c = 0; c < N; c++) {
        int peer = rank_at(nodes, c, relay_of(nodes, c, a));
        if (!relays_to(nodes, c))
            continue;
        put_send(b, g, peer, message_join(b, collected + c * L * L, L * L));
        put_recv(b, g, peer, message_join(b, arrived + c * L * L, L * L));
    }
    put_step(b, g);
    for (int c = 0; c < N; c++)
        if (c != a)
            relay_spread(b, &s, c, arrived + c * L * L);
}

const struct algorithm alltoall_staged = {
    .name = "staged",
    .aliases = {"two-step", "rail-aligned"},
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .grouped = true,
    .summary = "inside the node to the receiver's local rank, then along the rails",
    .rounds = "(L-1) + (N-1)",
    .sent = "N(L-1)b + L(N-1)b",
    .users = "HCCL, MSCCL (two-step), NCCL (PXN)",
    .options = {NODE_GROUPS},
    .refuses = staged_refuses,
    .write = staged_alltoall,
};

const struct algorithm alltoall_hier_relay = {
    .name = "hier-relay",
    .aliases = {"three-step"},
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .grouped = true,
    .summary = "one message between each two nodes, from relay to relay",
    .rounds = "3",
    .sent = "(L-1) + (N-1-c)L + c(2L^2-L) blocks, c = ceil((N-1)/L)",
    .users = "MSCCL (three-step)",
    .options = {NODE_GROUPS},
    .refuses = staged_refuses,
    .write = relay_alltoall,
};
