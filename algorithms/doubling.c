/*
 * doubling.c - exchanges between partners whose distance doubles, or halves: recursive doubling,
 * and Rabenseifner's recursive halving and doubling.
 *
 *   near first: step 1      step 2      step 3    P ranks take part, the largest power of two.
 *               0 - 1       0 - 2       0 - 4     The p-P others fold first: of the pairs (0,1),
 *               2 - 3       1 - 3       1 - 5     (2,3), ... the even rank sends its vector to the
 *               4 - 5       4 - 6       2 - 6     odd one (+1 step), and gets the result at the end
 *               6 - 7       5 - 7       3 - 7     (+1 step). Far first takes the steps in reverse.
 *
 *   collective      name                steps           sent by the busiest  scratch
 *   allreduce       recursive-doubling  log2 P (+2)     n log2 P (+n)        n (2n in place)
 *   allreduce       rabenseifner        2 log2 P (+2)   2(P-1)/P n (+n)      0
 *   allreduce       rhd-far             2 log2 P (+2)   2(P-1)/P n (+n)      0
 *   reduce          rabenseifner, rhd   2 log2 P (+1)   (P-1)/P n + n/2      n/2 (n)
 *   broadcast       rhd                 log2 P (+1)     n log2 P (+n)        0
 *   broadcast       scatter-rd          q + log2 P (+2) 2(p-1)b (*)          0
 *   reduce_scatter  rec-halving         log2 P (+2)     (p-1)b (n)           n/2 (n)
 *   reduce_scatter  butterfly           log2 P + 1 (+1) n                    n/2 (n)
 *   reduce_scatter  rec-doubling        log2 P (+2)     n log2 P (+b)        2n
 *   allgather       recursive-doubling  log2 P (+2)     (p-1)b (*)           0
 *   barrier         recursive-doubling  log2 P (+2)     log2 P (+1) signals
 *
 * In brackets: more, if ranks fold. (*) Then an active rank sends up to 2.4 times as much, since
 * its windows hold the folded ranks' blocks as well, and these ranks get all blocks at the end. In
 * place, rec-halving and butterfly need b more, since the rank's block lies among unsent blocks.
 * q = ceil(log2 p).
 *
 * recursive-doubling, rec-doubling: the whole vector in each step. A receive must not overwrite
 * unsent data, so results alternate between two areas. In place with an odd number of steps, the
 * first result would overwrite the source, so that is copied first (n more).
 * rabenseifner: in each step a rank sends half of its window and keeps half, near first; then the
 * way back. Operands stay in order, since a rank always holds the combination of a run of ranks.
 * rhd-far: the same far first: neighbours exchange the small parts, and the order is lost.
 * butterfly: rabenseifner's first half on the ranks' blocks. Rank v ends with the block whose
 * number has the bits of v in reverse order, so one more step moves blocks to their ranks (not
 * for 2 ranks).
 * rec-halving: far first, rank v ends with block v.
 * Reduce and broadcast choose the active rank of each pair such that the root is active: no extra
 * message to or from it.
 * scatter-rd: the scatter of scatter.c, far first, then the allgather.
 *
 * Used by: MPICH, Open MPI, HCCL. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 2005; butterfly: Traff, "An improved algorithm for
 * (non-commutative) reduce-scatter", EuroPVM/MPI 2005.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

static void recursive_doubling_allreduce(struct builder *b, const struct call *call)
{
    recursive_allreduce(b, call, 2);
}

static void rabenseifner_allreduce(struct builder *b, const struct call *call)
{
    halving_allreduce(b, call, 2, NEAR_FIRST);
}

static void rhd_far_allreduce(struct builder *b, const struct call *call)
{
    halving_allreduce(b, call, 2, FAR_FIRST);
}

static void rabenseifner_reduce(struct builder *b, const struct call *call)
{
    halving_reduce(b, call, 2, NEAR_FIRST);
}

static void rhd_reduce(struct builder *b, const struct call *call)
{
    halving_reduce(b, call, 2, FAR_FIRST);
}

/* Far first, the number of holders doubles; then the folded ranks get the vector. */
static void rhd_broadcast(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(b, g, 2, call->root);
    const struct group *actives = &fold.actives;
    struct message to = view_all(b, &call->destination);
    struct message have = g->rank == call->root ? view_all(b, &call->source) : to;
    int v = actives->rank, apart = v ^ fold_index(&fold, call->root);
    if (g->rank == call->root)
        put_copy(b, g, to, have);
    for (int d = fold.power / 2; d >= 1; d /= 2) {
        put_step(b, g);
        if (apart % (2 * d) == d)
            put_recv(b, actives, v ^ d, have);
        if (apart % (2 * d) == 0)
            put_send(b, actives, v ^ d, have);
    }
    fold_out(b, g, &fold, have);
}

static void rec_halving_reduce_scatter(struct builder *b, const struct call *call)
{
    halving_reduce_scatter(b, call, 2, FAR_FIRST);
}

static void butterfly_reduce_scatter(struct builder *b, const struct call *call)
{
    halving_reduce_scatter(b, call, 2, NEAR_FIRST);
}

static void rec_doubling_reduce_scatter(struct builder *b, const struct call *call)
{
    recursive_allreduce_scatter(b, call, 2);
}

static void recursive_doubling_allgather_on(struct builder *b, const struct group *g,
                                            const struct view *all)
{
    doubling_allgather(b, g, 2, all);
}

static void scatter_rd_broadcast(struct builder *b, const struct call *call)
{
    compose_broadcast(b, call, binomial_scatter_on, recursive_doubling_allgather_on);
}

static void recursive_doubling_allgather(struct builder *b, const struct call *call)
{
    compose_allgather(b, call, recursive_doubling_allgather_on);
}

const struct algorithm allreduce_recursive_doubling = {
    .name = "recursive-doubling",
    .aliases = {"rd", "hd-oneshot"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "exchanges of the whole vector with r xor 1, 2, 4, ...",
    .rounds = "log2 P (+2)",
    .sent = "n log2 P (+n)",
    .users = "MPICH, Open MPI, HCCL",
    .write = recursive_doubling_allreduce,
};

const struct algorithm allreduce_rabenseifner = {
    .name = "rabenseifner",
    .aliases = {"rhd", "halving-doubling"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "recursive halving, then recursive doubling",
    .rounds = "2 log2 P (+2)",
    .sent = "2(P-1)/P n (+n)",
    .users = "MPICH, Open MPI, HCCL",
    .write = rabenseifner_allreduce,
};

const struct algorithm allreduce_rhd_far = {
    .name = "rhd-far",
    .collectives = SERVES(ALLREDUCE),
    .summary = "recursive halving and doubling, the largest parts to the farthest rank",
    .rounds = "2 log2 P (+2)",
    .sent = "2(P-1)/P n (+n)",
    .users = "HCCL",
    .write = rhd_far_allreduce,
};

const struct algorithm reduce_rabenseifner = {
    .name = "rabenseifner",
    .collectives = SERVES(REDUCE),
    .summary = "recursive halving, then a gather in reverse",
    .rounds = "2 log2 P (+1)",
    .sent = "(P-1)/P n + n/2",
    .users = "MPICH, Open MPI",
    .write = rabenseifner_reduce,
};

const struct algorithm reduce_rhd = {
    .name = "rhd",
    .collectives = SERVES(REDUCE),
    .summary = "recursive halving far first, then a gather in reverse",
    .rounds = "2 log2 P (+1)",
    .sent = "(P-1)/P n + n/2",
    .users = "HCCL",
    .write = rhd_reduce,
};

const struct algorithm broadcast_rhd = {
    .name = "rhd",
    .collectives = SERVES(BROADCAST),
    .summary = "holders among the active ranks double in each step; then the folded ranks",
    .rounds = "log2 P (+1)",
    .sent = "n log2 P (+n)",
    .users = "HCCL",
    .write = rhd_broadcast,
};

const struct algorithm broadcast_scatter_rd = {
    .name = "scatter-rd",
    .collectives = SERVES(BROADCAST),
    .summary = "binomial scatter, then an allgather by recursive doubling",
    .rounds = "ceil(log2 p) + log2 P (+2)",
    .sent = "2(p-1)b, more with a fold",
    .users = "MPICH, Open MPI",
    .write = scatter_rd_broadcast,
};

const struct algorithm reduce_scatter_rec_halving = {
    .name = "rec-halving",
    .aliases = {"rhd"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "in each step a rank sends half of its window of blocks, far first",
    .rounds = "log2 P (+2)",
    .sent = "(p-1)b, or n with a fold",
    .users = "MPICH, Open MPI, HCCL",
    .write = rec_halving_reduce_scatter,
};

const struct algorithm reduce_scatter_butterfly = {
    .name = "butterfly",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "recursive halving near first, which keeps the order; a last step moves the blocks",
    .rounds = "log2 P + 1 (+1)",
    .sent = "at most n",
    .users = "Open MPI, MPICH",
    .write = butterfly_reduce_scatter,
};

const struct algorithm reduce_scatter_rec_doubling = {
    .name = "rec-doubling",
    .aliases = {"recursive-doubling", "rd"},
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "exchanges of the whole vector in each step; a rank keeps its block",
    .rounds = "log2 P (+2)",
    .sent = "n log2 P (+b)",
    .users = "MPICH",
    .write = rec_doubling_reduce_scatter,
};

const struct algorithm allgather_recursive_doubling = {
    .name = "recursive-doubling",
    .aliases = {"rd", "rhd"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "exchanges of all blocks so far with r xor 1, 2, 4, ...",
    .rounds = "log2 P (+2)",
    .sent = "(p-1)b, up to 2.4 times that with a fold",
    .users = "MPICH, Open MPI",
    .write = recursive_doubling_allgather,
};

const struct algorithm barrier_recursive_doubling = {
    .name = "recursive-doubling",
    .collectives = SERVES(BARRIER),
    .summary = "exchanges of signals with r xor 1, 2, 4, ...",
    .rounds = "log2 P (+2)",
    .sent = "log2 P (+1) signals",
    .users = "MPICH, Open MPI, UCC",
    .write = recursive_doubling_allreduce,
};
