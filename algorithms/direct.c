/*
 * direct.c - each block goes straight to the rank that needs it.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

/*
 * Each block goes straight to the rank that needs it: the meshes, and one-shot.
 *
 *        0 --- 1
 *        | \ / |      A mesh is one level of the recursive exchange
 *        | / \ |      (algorithms/common/common.h) with radix p: all ranks differ in the only
 *        3 --- 2      digit. Fewest steps, and the most messages at a time.
 *
 *   reduce_scatter:  rank r sends block x to rank x, and combines block r of all ranks
 *   allgather:       rank r sends block r to all
 *   allreduce:       reduce_scatter, allgather      reduce:     reduce_scatter, block r to the root
 *   oneshot:         the whole vector to all        broadcast:  block x to rank x, then allgather
 *                                                               without messages to the root
 *
 *   collective      name        steps            sent                           scratch
 *   reduce_scatter  mesh        1                (p-1)b                         0
 *   allgather       mesh        1                (p-1)b                         0
 *                   mesh, C     ceil((p-1)/C)    (p-1)b                         0
 *   allreduce       mesh        2                2(p-1)b                        0
 *   allreduce       oneshot     1                (p-1)n                         0  (in place: n)
 *   reduce          mesh        2                p b; the root (p-1)b           b, the root 0
 *   broadcast       mesh        2                the root 2(p-1)b; all others (p-2)b   0
 *
 * Rank r serves its peers in the order r+1, r+2, ..., so that not all ranks hit the same peer
 * first. Operands are combined on arrival, in an order that does not depend on timing. A block
 * begins with its owner's operand, then takes the operands of lower ranks, then of higher ones, so
 * that operands stay in rank order. Oneshot combines from rank 0 to p-1, so that all ranks get the
 * same bits.
 *
 * Used by: HCCL (Mesh), Open MPI (linear), UCC, MSCCL and MSCCL++ (allpairs), NCCL's symmetric-
 * memory kernels.
 */
static void mesh_reduce_scatter_on(struct builder *b, const struct group *g,
                                   const struct view *source, const struct view *partial)
{
    recursive_halving(b, g, g->size, FAR_FIRST, source, partial);
}

static void mesh_gather_on(struct builder *b, const struct group *g, int root,
                           const struct view *kept)
{
    recursive_gather(b, g, g->size, FAR_FIRST, root, kept);
}

/* Sends `mine` to all ranks except `spared`, `window` peers in each round, and receives theirs into
 * their blocks of `all`. */
static void mesh_spread(struct builder *b, const struct group *g, struct message mine,
                        const struct view *all, int window, int spared)
{
    int p = g->size, r = g->rank;
    for (int k = 1; k < p; k++) {
        int to = (r + k) % p, from = (r - k + p) % p;
        if ((k - 1) % window == 0) {
            if (k > 1)
                put_fence(b, g);
            put_step(b, g);
        }
        if (to != spared)
            put_send(b, g, to, mine);
        if (r != spared)
            put_recv(b, g, from, view_block(all, from));
    }
}

static void mesh_allgather_on(struct builder *b, const struct group *g, const struct view *all)
{
    mesh_spread(b, g, view_block(all, g->rank), all, g->size, -1);
}

static void mesh_allgather(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct message mine = view_all(b, &call->source);
    int window = (int)call_option(call, "concurrency");
    put_copy(b, g, view_block(&call->destination, g->rank), mine);
    mesh_spread(b, g, mine, &call->destination, window > 0 ? window : g->size, -1);
}

static void mesh_reduce_scatter(struct builder *b, const struct call *call)
{
    compose_reduce_scatter(b, call, mesh_reduce_scatter_on);
}

static void mesh_allreduce(struct builder *b, const struct call *call)
{
    compose_allreduce(b, call, mesh_reduce_scatter_on, mesh_allgather_on);
}

static void mesh_reduce(struct builder *b, const struct call *call)
{
    compose_reduce(b, call, mesh_reduce_scatter_on, mesh_gather_on);
}

static void mesh_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct view all = view_cut(b, &call->destination, g->size), kept = all;
    if (g->rank == call->root) {
        kept = view_cut(b, &call->source, g->size);
        put_copy(b, g, view_all(b, &all), view_all(b, &kept));
    }
    recursive_scatter(b, g, g->size, FAR_FIRST, call->root, &kept);
    mesh_spread(b, g, view_block(&kept, g->rank), &all, g->size, call->root);
}

static void oneshot_allreduce(struct builder *b, const struct call *call)
{
    struct view source = view_source_apart(b, call);
    struct message own = view_all(b, &source), to = view_all(b, &call->destination);
    if (call->group->size == 1)
        put_copy(b, call->group, to, own);
    else
        recursive_exchange(b, call->group, 1, call->group->size, own, to);
}

const struct algorithm allgather_mesh = {
    .name = "mesh",
    .aliases = {"linear", "direct"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "each rank sends its block to every peer at once",
    .rounds = "1, or ceil((p-1)/C)",
    .sent = "(p-1)b",
    .users = "HCCL, Open MPI, UCC, NCCL (symmetric)",
    .options = {{"concurrency", 0, 65536, 0, "peers in each round; 0: all at once"}},
    .alike = true,
    .write = mesh_allgather,
};

const struct algorithm reduce_scatter_mesh = {
    .name = "mesh",
    .aliases = {"direct"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "each block straight to its rank, combined on arrival",
    .rounds = "1",
    .sent = "(p-1)b",
    .users = "HCCL, MSCCL, NCCL (symmetric)",
    .write = mesh_reduce_scatter,
};

const struct algorithm allreduce_mesh = {
    .name = "mesh",
    .aliases = {"two-shot", "allpairs", "direct"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "direct reduce_scatter, then direct allgather",
    .rounds = "2",
    .sent = "2(p-1)b",
    .users = "HCCL, MSCCL, MSCCL++, NCCL (symmetric)",
    .write = mesh_allreduce,
};

const struct algorithm allreduce_oneshot = {
    .name = "oneshot",
    .aliases = {"one-shot", "allgather-reduce"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "the whole vector to every peer; each rank combines all in rank order",
    .rounds = "1",
    .sent = "(p-1)n",
    .users = "HCCL, MSCCL, MSCCL++, Open MPI",
    .write = oneshot_allreduce,
};

const struct algorithm reduce_mesh = {
    .name = "mesh",
    .collectives = SERVES(REDUCE),
    .summary = "direct reduce_scatter, then every block straight to the root",
    .rounds = "2",
    .sent = "p b",
    .users = "HCCL",
    .write = mesh_reduce,
};

const struct algorithm broadcast_mesh = {
    .name = "mesh",
    .collectives = SERVES(BROADCAST),
    .summary = "a block to every peer, which sends it to all others",
    .rounds = "2",
    .sent = "2(p-1)b",
    .users = "HCCL",
    .write = mesh_broadcast,
};

/*
 * Alltoall straight from each rank to each other: linear, full mesh, scattered.
 *
 *        0 --- 1      Each block takes one hop. Fewest steps, and the most messages at a time;
 *        | \ / |      concurrency=C bounds these in the windowed forms: rounds of C peers, with a
 *        | / \ |      fence between them. Of 8 ranks and with C = 4, rank 0 meets 1, 2, 6 and 7 in
 *        3 --- 2      the first round of the full mesh, and 3, 4 and 5 in the second.
 *
 *   name        steps                     sent      scratch (in place)
 *   linear      1                         (p-1)b    0  (n)
 *   fullmesh    ceil(floor(p/2)/(C/2))    (p-1)b    0  (n); C = 1: p-1 steps, as pairwise
 *   scattered   ceil((p-1)/C)             (p-1)b    0  (n)
 *
 * Rank r serves its peers in the order r+1, r+2, ..., so that not all ranks hit the same peer
 * first.
 *
 * Used by: HCCL (grouped direct full mesh), MPICH (scattered), Open MPI (linear, linear_sync),
 * MSCCL (allpairs).
 */
/* One send and one receive. */
static void alltoall_exchange(struct builder *b, const struct call *call, const struct view *source,
                              int to, int from)
{
    put_send(b, call->group, to, view_block(source, to));
    put_recv(b, call->group, from, view_block(&call->destination, from));
}

static void linear_alltoall(struct builder *b, const struct call *call)
{
    int p = call->group->size, r = call->group->rank;
    struct view source = view_source_apart(b, call);
    put_step(b, call->group);
    put_copy(b, call->group, view_block(&call->destination, r), view_block(&source, r));
    for (int k = 1; k < p; k++)
        alltoall_exchange(b, call, &source, (r + k) % p, (r - k + p) % p);
}

/* The peers at a gap on the ring of ranks are r - gap and r + gap. Both ends see the same gap, so
 * they meet in the same round. */
static void fullmesh_alltoall(struct builder *b, const struct call *call)
{
    int p = call->group->size, r = call->group->rank;
    int gaps_a_round = (int)call_option(call, "concurrency") / 2;
    if (gaps_a_round == 0) {
        pairwise_alltoall(b, call);
        return;
    }
    struct view source = view_source_apart(b, call);
    put_copy(b, call->group, view_block(&call->destination, r), view_block(&source, r));
    for (int gap = 1; gap <= p / 2; gap++) {
        int left = (r - gap + p) % p, right = (r + gap) % p;
        if ((gap - 1) % gaps_a_round == 0) {
            if (gap > 1) /* the copy of this rank's block overlaps with the first round */
                put_fence(b, call->group);
            put_step(b, call->group);
        }
        alltoall_exchange(b, call, &source, right, left);
        if (left != right)
            alltoall_exchange(b, call, &source, left, right);
    }
}

static const char *fullmesh_refuses(const struct problem *problem, const struct choice *choice,
                                    char *why, size_t size)
{
    (void)problem, (void)why, (void)size;
    long concurrency = choice_option(choice, "concurrency");
    if (concurrency == 1 || concurrency % 2 == 0)
        return NULL;
    return "peers come in pairs, one on each side, so concurrency must be 1 or even";
}

static void scattered_alltoall(struct builder *b, const struct call *call)
{
    int p = call->group->size, r = call->group->rank;
    int window = (int)call_option(call, "concurrency");
    struct view source = view_source_apart(b, call);
    put_copy(b, call->group, view_block(&call->destination, r), view_block(&source, r));
    for (int k = 1; k < p; k++) {
        if ((k - 1) % window == 0) {
            if (k > 1)
                put_fence(b, call->group);
            put_step(b, call->group);
        }
        alltoall_exchange(b, call, &source, (r - k + p) % p, (r + k) % p);
    }
}

const struct algorithm alltoall_linear = {
    .name = "linear",
    .aliases = {"direct", "allpairs"},
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "all sends and receives at once",
    .rounds = "1",
    .sent = "(p-1)b",
    .users = "Open MPI, MSCCL",
    .alike = true,
    .write = linear_alltoall,
};

const struct algorithm alltoall_fullmesh = {
    .name = "fullmesh",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "rounds of C peers, the nearest on both sides first",
    .rounds = "ceil(floor(p/2)/(C/2)); p-1 if C=1",
    .sent = "(p-1)b",
    .users = "HCCL",
    .options = {{"concurrency", 1, 65536, 8, "peers in flight, 1 or even"}},
    .refuses = fullmesh_refuses,
    .alike = true,
    .write = fullmesh_alltoall,
};

const struct algorithm alltoall_scattered = {
    .name = "scattered",
    .aliases = {"linear-sync", "windowed"},
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "batches of C peers: send to r-k, receive from r+k",
    .rounds = "ceil((p-1)/C)",
    .sent = "(p-1)b",
    .users = "MPICH, Open MPI (linear_sync), UCC",
    .options = {{"concurrency", 1, 65536, 32, "peers in a batch"}},
    .alike = true,
    .write = scattered_alltoall,
};
