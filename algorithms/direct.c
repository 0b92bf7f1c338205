/*
 * direct.c - everybody talks to everybody directly: linear, mesh, full mesh, scattered, one-shot.
 *
 *        0 --- 1
 *        | \ / |      Each rank has what it needs from each other rank in one hop. Fewest steps,
 *        | / \ |      and the most messages at a time; concurrency= bounds these in the windowed
 *        3 --- 2      forms.
 *
 *   collective      name        steps                     sent      scratch (in place)
 *   alltoall        linear      1                         (p-1)b    0  (n)
 *   alltoall        fullmesh    ceil(floor(p/2)/(C/2))    (p-1)b    0  (n)
 *   alltoall        scattered   ceil((p-1)/C)             (p-1)b    0  (n)
 *   allgather       mesh        1                         (p-1)b    0
 *   reduce_scatter  mesh        1                         (p-1)b    0
 *   allreduce       mesh        2                         2(p-1)b   0    (both of the above)
 *   allreduce       oneshot     1                         (p-1)n    0  (n)
 *
 * Peers are served from the own rank onwards, so that not all hit the same one first. What is
 * combined is combined on arrival, in an order that does not depend on who comes first, so runs are
 * reproducible.
 *
 * Used by: HCCL (Mesh, grouped direct full mesh), MPICH (scattered), Open MPI (linear,
 * linear_sync), MSCCL (allpairs), NCCL's symmetric-memory kernels.
 */
#include "algorithms.h"

/* Alltoall. */

/* The exchange with one peer; both of its directions. */
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

/* The peers at gap g on the ring of ranks are r-g and r+g; both ends see the same gap, so they meet
 * in the same round. */
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
            if (gap > 1) /* the copy of the own block overlaps with the first round */
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

/* Gathering and combining. */

/* Everybody's `mine` goes to everybody's block of that rank in `all`. */
static void mesh_gather(struct builder *b, const struct group *g, struct message mine,
                        const struct view *all)
{
    int p = g->size, r = g->rank;
    put_step(b, g);
    put_copy(b, g, view_block(all, r), mine);
    for (int k = 1; k < p; k++) {
        put_send(b, g, (r + k) % p, mine);
        put_recv(b, g, (r - k + p) % p, view_block(all, r - k));
    }
}

/* `to` of rank r becomes the combination of all ranks' block r, own first, then r-1, r-2, ... */
static void mesh_combine(struct builder *b, const struct group *g, const struct view *source,
                         struct message to)
{
    int p = g->size, r = g->rank;
    struct message so_far = view_block(source, r);
    put_step(b, g);
    if (p == 1)
        put_copy(b, g, to, so_far);
    for (int k = 1; k < p; k++) {
        put_send(b, g, (r + k) % p, view_block(source, r + k));
        put_recv_reduce(b, g, (r - k + p) % p, to, so_far);
        so_far = to;
    }
}

static void mesh_allgather(struct builder *b, const struct call *call)
{
    mesh_gather(b, call->group, view_all(b, &call->source), &call->destination);
}

static void mesh_reduce_scatter(struct builder *b, const struct call *call)
{
    mesh_combine(b, call->group, &call->source, view_all(b, &call->destination));
}

static void mesh_allreduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct view source = view_cut(b, &call->source, g->size);
    struct view destination = view_cut(b, &call->destination, g->size);
    struct message mine = view_block(&destination, g->rank);
    mesh_combine(b, g, &source, mine);
    mesh_gather(b, g, mine, &destination);
}

/* Every rank combines the same vectors in the same order, that of the ranks, so all get the same
 * bits. */
static void oneshot_allreduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    struct view source = view_source_apart(b, call);
    struct message own = view_all(b, &source), to = view_all(b, &call->destination);
    put_step(b, g);
    for (int k = 1; k < p; k++)
        put_send(b, g, (r + k) % p, own);

    if (p == 1)
        put_copy(b, g, to, own);
    else if (r == 0)
        put_recv_reduce(b, g, 1, to, own);
    else if (r == 1)
        put_recv_reduce(b, g, 0, to, own);
    else
        put_recv(b, g, 0, to);
    for (int x = r < 2 ? 2 : 1; x < p; x++) {
        if (x == r)
            put_reduce(b, g, to, to, own);
        else
            put_recv_reduce(b, g, x, to, to);
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
    .write = linear_alltoall,
};

const struct algorithm alltoall_fullmesh = {
    .name = "fullmesh",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "rounds of C peers, the nearest on both sides first",
    .rounds = "ceil(floor(p/2)/(C/2))",
    .sent = "(p-1)b",
    .users = "HCCL",
    .options = {{"concurrency", 1, 65536, 8, "peers in flight, 1 or even"}},
    .refuses = fullmesh_refuses,
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
    .write = scattered_alltoall,
};

const struct algorithm allgather_mesh = {
    .name = "mesh",
    .aliases = {"linear", "direct"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "the own block to every peer at once",
    .rounds = "1",
    .sent = "(p-1)b",
    .users = "HCCL, Open MPI, UCC, NCCL (symmetric)",
    .write = mesh_allgather,
};

const struct algorithm reduce_scatter_mesh = {
    .name = "mesh",
    .aliases = {"direct"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "every peer's block straight to it, combined on arrival",
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
    .summary = "the whole vector to every peer; each combines all in rank order",
    .rounds = "1",
    .sent = "(p-1)n",
    .users = "HCCL, MSCCL, MSCCL++, Open MPI",
    .write = oneshot_allreduce,
};
