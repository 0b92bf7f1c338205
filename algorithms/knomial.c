/*
 * knomial.c - recursive exchanges of any radix: log_k P levels of k-1 messages each, between ranks
 * that differ in one digit. More messages at a time, fewer levels. Radix 2 is in doubling.c.
 *
 *   k = 3:   level 1               level 2              P ranks take part, the largest power of k.
 *            0-1-2  3-4-5  6-7-8   0-3-6 1-4-7 2-5-8    The others fold first, one step, and get
 *                                                       the result in one more.
 *
 *   collective      name         steps           sent by the busiest
 *   allreduce       recexch      log_k P (+2)    (k-1) n log_k P (+ n for each extra)
 *   allreduce       sra-knomial  2 log_k P (+2)  2 (P-1)/P n (+ n for each extra)
 *   reduce          srg-knomial  2 log_k P (+1)  (P-1)/P n + n/k
 *   broadcast       sag-knomial  2 log_k P (+1)  2 (P-1)/P n (+ n for each extra)
 *   reduce_scatter  knomial      log_k P (+2)    (p-1) b, or n where ranks fold
 *   allgather       knomial      log_k P (+2)    (p-1) b, more with extras
 *
 * An extra is one of the up to k-1 ranks that fold onto another one (algorithms/common/common.h).
 * The names stand for scatter-reduce (sr), scatter (s), allgather (ag, a), gather (g). Collectives
 * with a root make it an active rank: no extra message to or from it. Scatter and gather have the
 * same levels as the reduction and the allgather, so all windows match without a permutation.
 *
 * Scratch: recexch n, if it combines twice or more. Reductions that cut the vector need none in
 * allreduce, where partial results lie in the destination, else n/k (n if ranks fold). Recexch
 * combines in rank order, and all ranks get the same bits; sra- and srg-knomial keep the order of
 * operands, too; reduce_scatter, far first, does not.
 *
 * Used by: MPICH (recexch, k-nomial), UCC (knomial, SRA, SAG, SRG). Source: the same as for radix
 * 2, see doubling.c.
 */
#include "algorithms/algorithms.h"

#include "algorithms/common/common.h"

static int call_radix(const struct call *call)
{
    return (int)call_option(call, "radix");
}

static void recexch_allreduce(struct builder *b, const struct call *call)
{
    recursive_allreduce(b, call, call_radix(call));
}

static void sra_knomial_allreduce(struct builder *b, const struct call *call)
{
    halving_allreduce(b, call, call_radix(call), NEAR_FIRST);
}

static void srg_knomial_reduce(struct builder *b, const struct call *call)
{
    halving_reduce(b, call, call_radix(call), NEAR_FIRST);
}

static void sag_knomial_broadcast(struct builder *b, const struct call *call)
{
    halving_broadcast(b, call, call_radix(call), FAR_FIRST);
}

static void knomial_reduce_scatter(struct builder *b, const struct call *call)
{
    halving_reduce_scatter(b, call, call_radix(call), FAR_FIRST);
}

static void knomial_allgather(struct builder *b, const struct call *call)
{
    put_copy(b, call->group, view_block(&call->destination, call->group->rank),
             view_all(b, &call->source));
    doubling_allgather(b, call->group, call_radix(call), &call->destination);
}

#define RADIX                                                                                      \
    {                                                                                              \
        "radix", 2, 65536, 4, "base k: k-1 messages in each level"                                 \
    }

const struct algorithm allreduce_recexch = {
    .name = "recexch",
    .collectives = SERVES(ALLREDUCE),
    .summary = "exchanges of the whole vector with all ranks that differ in one digit, base k",
    .rounds = "log_k P (+2)",
    .sent = "(k-1)n log_k P (+n each extra)",
    .users = "MPICH, UCC (knomial)",
    .options = {RADIX},
    .write = recexch_allreduce,
};

const struct algorithm allreduce_sra_knomial = {
    .name = "sra-knomial",
    .collectives = SERVES(ALLREDUCE),
    .summary = "scatter-reduce by digits, base k, then allgather in reverse",
    .rounds = "2 log_k P (+2)",
    .sent = "2(P-1)/P n (+n each extra)",
    .users = "UCC, MPICH",
    .options = {RADIX},
    .write = sra_knomial_allreduce,
};

const struct algorithm reduce_srg_knomial = {
    .name = "srg-knomial",
    .collectives = SERVES(REDUCE),
    .summary = "scatter-reduce by digits, base k, then gather in reverse",
    .rounds = "2 log_k P (+1)",
    .sent = "(P-1)/P n + n/k",
    .users = "UCC",
    .options = {RADIX},
    .write = srg_knomial_reduce,
};

const struct algorithm broadcast_sag_knomial = {
    .name = "sag-knomial",
    .collectives = SERVES(BROADCAST),
    .summary = "scatter by digits, base k, then allgather in reverse",
    .rounds = "2 log_k P (+1)",
    .sent = "2(P-1)/P n (+n each extra)",
    .users = "UCC",
    .options = {RADIX},
    .write = sag_knomial_broadcast,
};

const struct algorithm reduce_scatter_knomial = {
    .name = "knomial",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "in each level a rank keeps one of the k parts of its window of blocks",
    .rounds = "log_k P (+2)",
    .sent = "(p-1)b, or n with a fold",
    .users = "UCC",
    .options = {RADIX},
    .write = knomial_reduce_scatter,
};

const struct algorithm allgather_knomial = {
    .name = "knomial",
    .aliases = {"recexch"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "the window of blocks grows k-fold in each level",
    .rounds = "log_k P (+2)",
    .sent = "(p-1)b, more with a fold",
    .users = "UCC, MPICH",
    .options = {RADIX},
    .write = knomial_allgather,
};
