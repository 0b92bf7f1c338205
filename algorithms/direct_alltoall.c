/*
 * direct_alltoall.c - alltoall straight from each rank to each other: linear, full mesh, scattered.
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
#include "algorithms/algorithms.h"

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
