/*
 * circulant.c - circulant graphs, by whole blocks and by segments.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

#include <string.h>

/*
 * Circulant graphs: every rank sends to the ranks p/2, p/4, p/8, ... ahead, rounded
 * up.
 *
 * A partial sum on its way home is at a distance from it, 1 to p-1. The first hop
 * (algorithms/common/common.h) takes the farther half, ceil(p/2) .. p-1, nearer by ceil(p/2). The
 * same problem then remains for ceil(p/2) distances:
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
 * graph serves broadcasts in many segments, below.
 */
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

/*
 * Broadcast, reduce and allgather of m segments on a circulant graph, in
 * the minimum number of rounds.
 *
 * In every round each rank sends one segment `skip` ranks ahead and receives one from `skip` ranks
 * behind; the skips are 1, ..., p/4, p/2, rounded up, in turn. The root sends a new segment in each
 * round, then repeats the last one. The other ranks pass segments on such that no rank receives one
 * twice, or has to send one that it lacks. The graph alone determines the right segments:
 * pipeline_schedule() computes the segments that the rank v ranks after the root receives in q =
 * ceil(log2 p) rounds. The next q rounds are the same, q segments later.
 *
 *      p = 6, m = 3, root 0        round   0  1  2  3  4
 *                                  skip    2  3  1  2  3
 *                   the root sends         0  1  2  2  2
 *                   rank 1 receives              2  0  1      (always from rank - skip)
 *                   rank 2                 0        2  1
 *                   rank 3                    1  0     2
 *                   rank 4                       1  0  2
 *                   rank 5                    0     1  2
 *
 *   collective   name             steps              sent               scratch
 *   broadcast    circulant        m-1+ceil(log2 p)   n + (q-1) n/m      0
 *   reduce       circulant        m-1+ceil(log2 p)   n                  up to n, the root 0
 *   allgather    circulant-pipe   m-1+ceil(log2 p)   (p-1)b             0
 *
 * Reduce is broadcast reversed in time: its root receives n + (q-1) n/m. Allgather is a broadcast
 * of every rank at once; all segments of a round are one message. There are segments=m segments, or
 * as many as elements if these are fewer.
 *
 * Used by: MPICH (circ_graph). Source: Traff, "Optimal broadcast schedules in logarithmic time with
 * applications to broadcast, all-broadcast, reduction and all-reduction", 2024.
 */
struct pipeline {
    int ranks, segments, log; /* p, m, q */
    int skip[HOPS_MOST];      /* skip[log] = p */
    int *base;                /* of each relative rank: the last skip on its way from the root */
    int *schedule;            /* log numbers for each relative rank */
    int *known;               /* of each relative rank: is its schedule computed? */
    int idle; /* rounds of the schedule that are left out, since no segment moves in them */
};

/* The way from the root to relative rank v takes the largest skips that fit. */
static int pipeline_base(const struct pipeline *pipeline, int v)
{
    int k = pipeline->log;
    while (v > 0)
        if (pipeline->skip[--k] <= v)
            v -= pipeline->skip[k];
    return k;
}

/* `elements`: of the data to cut into segments. False: the builder has failed. */
static bool pipeline_make(struct builder *b, const struct call *call, size_t elements,
                          struct pipeline *pipeline)
{
    struct hop hops[HOPS_MOST];
    int p = call->group->size, q = circulant_hops(p, hops);
    size_t segments = (size_t)call_option(call, "segments");
    if (elements < segments)
        segments = elements > 0 ? elements : 1;
    *pipeline = (struct pipeline){.ranks = p, .segments = (int)segments, .log = q};
    for (int k = 0; k < q; k++)
        pipeline->skip[k] = hops[q - 1 - k].reach;
    pipeline->skip[q] = p;
    pipeline->idle = q > 0 ? (q - (pipeline->segments - 1) % q) % q : 0;
    pipeline->base = index_array(b, p);
    pipeline->schedule = index_array(b, p * q);
    pipeline->known = index_array(b, p);
    if (!pipeline->base || !pipeline->schedule || !pipeline->known)
        return false;
    for (int v = 0; v < p; v++) {
        pipeline->base[v] = pipeline_base(pipeline, v);
        pipeline->known[v] = false;
    }
    return true;
}

static int pipeline_rounds(const struct pipeline *pipeline)
{
    return pipeline->log > 0 ? pipeline->segments - 1 + pipeline->log : 0;
}

static int round_skip(const struct pipeline *pipeline, int round)
{
    return pipeline->skip[(round + pipeline->idle) % pipeline->log];
}

/* The segments that relative rank v receives in its first q rounds, one with each skip. Each has a
 * different base from the ones before. A number below 0: none in these rounds yet. */
static void pipeline_schedule(const struct pipeline *pipeline, int v, int *schedule)
{
    int p = pipeline->ranks, q = pipeline->log;
    bool used[HOPS_MOST] = {false};
    used[pipeline->base[v]] = true;
    for (int k = 0; k < q; k++) {
        int first = v + p - pipeline->skip[k + 1], last = v + p - pipeline->skip[k];
        int base = -1;
        for (int x = first + 1; x <= last; x++)
            if (!used[pipeline->base[x % p]] && pipeline->base[x % p] > base)
                base = pipeline->base[x % p];
        if (base < 0)
            base = pipeline->base[first % p];
        used[base] = true;
        schedule[k] = base == q ? pipeline->base[v] : base - q;
    }
}

/* The segment that relative rank v receives in a round; -1: none. */
static int segment_received(const struct pipeline *pipeline, int v, int round)
{
    int q = pipeline->log, i = round + pipeline->idle, *schedule = pipeline->schedule + v * q;
    if (v == 0)
        return -1;
    if (!pipeline->known[v])
        pipeline_schedule(pipeline, v, schedule);
    pipeline->known[v] = true;
    int segment = schedule[i % q] + i / q * q - pipeline->idle;
    if (segment < 0)
        return -1;
    return segment < pipeline->segments ? segment : pipeline->segments - 1;
}

static void circulant_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank, v = (r - call->root + p) % p;
    struct message whole = view_all(b, &call->destination);
    struct pipeline pipeline;
    if (!pipeline_make(b, call, message_length(whole), &pipeline))
        return;
    if (v == 0)
        put_copy(b, g, whole, view_all(b, &call->source));
    struct view segments =
        view_cut(b, v == 0 ? &call->source : &call->destination, pipeline.segments);
    for (int i = 0; i < pipeline_rounds(&pipeline); i++) {
        int skip = round_skip(&pipeline, i);
        int sent = segment_received(&pipeline, (v + skip) % p, i);
        int received = segment_received(&pipeline, v, i);
        put_step(b, g);
        if (sent >= 0)
            put_send(b, g, (r + skip) % p, view_block(&segments, sent));
        if (received >= 0)
            put_recv(b, g, (r - skip + p) % p, view_block(&segments, received));
    }
}

/* The same rounds from last to first: each segment goes back the way that it comes in a broadcast,
 * and is combined on the way. */
static void circulant_reduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank, v = (r - call->root + p) % p;
    struct view result = v == 0 ? call->destination : view_scratch(b, &call->source);
    struct pipeline pipeline;
    if (!pipeline_make(b, call, message_length(view_all(b, &call->source)), &pipeline))
        return;
    struct view partial = view_cut(b, &result, pipeline.segments);
    struct view source = view_cut(b, &call->source, pipeline.segments);
    struct message *now = message_array(b, pipeline.segments);
    if (!now || !source.messages)
        return;
    memcpy(now, source.messages, (size_t)pipeline.segments * sizeof *now);
    if (p == 1)
        put_copy(b, g, view_all(b, &result), view_all(b, &call->source));
    for (int i = pipeline_rounds(&pipeline) - 1; i >= 0; i--) {
        int skip = round_skip(&pipeline, i);
        int combined = segment_received(&pipeline, (v + skip) % p, i);
        int sent = segment_received(&pipeline, v, i);
        put_step(b, g);
        if (combined >= 0) {
            struct message to = view_block(&partial, combined);
            put_recv_reduce(b, g, (r + skip) % p, to, now[combined]);
            now[combined] = to;
        }
        if (sent >= 0)
            put_send(b, g, (r - skip + p) % p, now[sent]);
    }
}

/* The message that `rank` receives in a round: a segment for each root, in the order of roots.
 * segments[root * m + i] is segment i of that root's block. */
static struct message round_message(struct builder *b, const struct pipeline *pipeline,
                                    const struct message *segments, int rank, int round)
{
    int p = pipeline->ranks, count = 0;
    struct message *parts = message_array(b, p);
    if (!parts)
        return (struct message){0};
    for (int root = 0; root < p; root++) {
        int segment = segment_received(pipeline, (rank - root + p) % p, round);
        if (segment >= 0)
            parts[count++] = segments[root * pipeline->segments + segment];
    }
    return message_join(b, parts, count);
}

static void circulant_pipe_allgather(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    size_t most = 0;
    for (int i = 0; i < p; i++) {
        size_t length = message_length(view_block(&call->destination, i));
        most = length > most ? length : most;
    }
    struct pipeline pipeline;
    if (!pipeline_make(b, call, most, &pipeline))
        return;
    int m = pipeline.segments;
    struct message *segments = message_array(b, p * m);
    for (int i = 0; segments && i < p; i++) {
        struct view block = view_of(b, view_block(&call->destination, i));
        struct view cut = view_cut(b, &block, m);
        if (cut.blocks == m)
            memcpy(segments + i * m, cut.messages, (size_t)m * sizeof *segments);
    }
    put_copy(b, g, view_block(&call->destination, r), view_all(b, &call->source));
    for (int i = 0; segments && i < pipeline_rounds(&pipeline); i++) {
        int skip = round_skip(&pipeline, i), ahead = (r + skip) % p, behind = (r - skip + p) % p;
        put_step(b, g);
        put_send(b, g, ahead, round_message(b, &pipeline, segments, ahead, i));
        put_recv(b, g, behind, round_message(b, &pipeline, segments, r, i));
    }
}

const struct algorithm broadcast_circulant = {
    .name = "circulant",
    .collectives = SERVES(BROADCAST),
    .summary = "segments on a circulant graph, a new one in every round",
    .rounds = "m-1+ceil(log2 p)",
    .sent = "n + (ceil(log2 p) - 1) n/m",
    .users = "MPICH (circ_graph)",
    .options = {{"segments", 1, 65536, 8, "m: pieces of the vector"}},
    .write = circulant_broadcast,
};

const struct algorithm reduce_circulant = {
    .name = "circulant",
    .collectives = SERVES(REDUCE),
    .summary = "the circulant broadcast, reversed in time",
    .rounds = "m-1+ceil(log2 p)",
    .sent = "n",
    .users = "MPICH (circ_graph)",
    .options = {{"segments", 1, 65536, 8, "m: pieces of the vector"}},
    .write = circulant_reduce,
};

const struct algorithm allgather_circulant_pipe = {
    .name = "circulant-pipe",
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "every rank's circulant broadcast at once",
    .rounds = "m-1+ceil(log2 p)",
    .sent = "(p-1)b",
    .users = "MPICH (circ_graph)",
    .options = {{"segments", 1, 1024, 8, "m: pieces of a block"}},
    .write = circulant_pipe_allgather,
};
