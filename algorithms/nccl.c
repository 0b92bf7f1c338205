/*
 * nccl.c - NCCL itself, and the order of its sends and receives.
 */
#include "algorithms/algorithms.h"

#include "base/numbers.h"
#include "collective/collective.h"

/*
 * NVIDIA's NCCL, to compare with: its collective runs in place of a schedule.
 *
 * Nothing of it is cctest's. NCCL chooses its own algorithm, protocol, channels and links, and
 * shows none of them here. The collectives that it has functions for are called by them. The others
 * are groups of its sends and receives, as nccl-tests makes them.
 *
 * Used by: nccl-tests, PyTorch, JAX.
 */
#define OWN "NCCL's own"

const struct algorithm collectives_nccl = {
    .name = "nccl",
    .collectives = SERVES(ALLREDUCE) | SERVES(ALLGATHER) | SERVES(REDUCE_SCATTER) |
                   SERVES(BROADCAST) | SERVES(REDUCE),
    .summary = "NVIDIA's library, not cctest's: its own collective, for -m cuda",
    .rounds = OWN,
    .sent = OWN,
    .users = "nccl-tests",
    .vendor = "nccl",
};

const struct algorithm exchanges_nccl = {
    .name = "nccl",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV) | SERVES(ALLGATHERV) | SERVES(GATHER) |
                   SERVES(GATHERV) | SERVES(SCATTER) | SERVES(SCATTERV),
    .summary = "NVIDIA's library, not cctest's: a group of its sends and receives, for -m cuda",
    .rounds = OWN,
    .sent = OWN,
    .users = "nccl-tests",
    .vendor = "nccl",
};

/* The pattern of nccl-tests. */
static int next_partner(const struct choice *choice, int rank, int ranks)
{
    (void)choice;
    return (rank + 1) % ranks;
}

const struct algorithm sendrecv_nccl = {
    .name = "nccl",
    .collectives = SERVES(SENDRECV),
    .summary = "NVIDIA's library, not cctest's: every rank sends to the next, for -m cuda",
    .rounds = OWN,
    .sent = OWN,
    .users = "nccl-tests",
    .partner = next_partner,
    .vendor = "nccl",
};

/*
 * Alltoall in the order in which NCCL processes grouped sends and receives.
 *
 *   2 groups of 3, rank 0      d = 0: ->1 <-2 | ->2 <-1      d = 1: ->3 <-3 | ->4 <-5 | ->5 <-4
 *
 * Groups are consecutive ranks of a node. Their size is the greatest common divisor of 8 and the
 * sizes of all nodes; with one node all ranks are one group. For each distance d between groups,
 * and each e inside: send to (group+d, index+e), receive from (group-d, index-e). The distances
 * come in quadratic order 0, 1, 3, 6, 10, ..., modulo a power of two, which spreads the peers of a
 * group over all groups.
 *
 * p-1 rounds; every rank sends (p-1) blocks; no scratch, in place n. Up to `concurrency` rounds are
 * in flight between two fences, since NCCL's channels serve several peers at a time.
 *
 * Used by: NCCL (the schedule of its init.c).
 */
#define GROUP_MOST 8 /* ranks, if there are several nodes */

/* The ranks in groups. The position of a rank is group * each + its index in the group. */
struct formation {
    const struct shape *shape; /* NULL, or one node: positions are ranks */
    int each, groups;          /* ranks in a group; number of groups */
    int position;              /* of this rank */
};

static struct formation formation_of(const struct call *call)
{
    const struct shape *shape = call->problem->shape;
    int p = call->group->size, r = call->group->rank, each = GROUP_MOST;
    if (!shape || shape->groups < 2)
        return (struct formation){NULL, p, 1, r};
    for (int node = 0; node < shape->groups; node++)
        each = (int)common_divisor(each, shape_size(shape, node));
    return (struct formation){shape, each, p / each,
                              shape->start[shape->group[r]] + shape->local_rank[r]};
}

/* The rank d groups and e positions ahead. */
static int formation_rank(const struct formation *f, int d, int e)
{
    int group = (f->position / f->each + d + f->groups) % f->groups;
    int position = group * f->each + (f->position % f->each + e + f->each) % f->each;
    return f->shape ? f->shape->members[position] : position;
}

static void nccl_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct formation f = formation_of(call);
    struct view source = view_source_apart(b, call);
    int concurrency = (int)call_option(call, "concurrency"), round = 0;
    int power = 1 << log2_up(f.groups);
    put_copy(b, g, view_block(&call->destination, g->rank), view_block(&source, g->rank));
    for (int k = 0, d = 0; k < power; k++, d = (d + k) % power)
        for (int e = d == 0; e < f.each && d < f.groups; e++) {
            int to = formation_rank(&f, d, e), from = formation_rank(&f, -d, -e);
            if (round > 0 && round % concurrency == 0)
                put_fence(b, g);
            round++;
            put_step(b, g);
            put_send(b, g, to, view_block(&source, to));
            put_recv(b, g, from, view_block(&call->destination, from));
        }
}

const struct algorithm alltoall_nccl_p2p = {
    .name = "nccl-p2p",
    .collectives = SERVES(ALLTOALL) | SERVES(ALLTOALLV),
    .summary = "groups of ranks at distances 0, 1, 3, 6, ..., all ranks of each",
    .rounds = "p-1",
    .sent = "(p-1)b",
    .users = "NCCL",
    .options = {{"concurrency", 1, 65536, 8, "rounds in flight"}},
    .alike = true,
    .write = nccl_alltoall,
};
