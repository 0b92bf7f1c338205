/*
 * knomial.c - recursive exchanges of any radix: log_k P levels of k-1 messages each, between ranks
 * that differ in one digit. More messages at a time, fewer levels. Radix 2 is in doubling.c.
 *
 *   k = 3:   level 1               level 2            P = largest power of k up to p ranks take
 *            0-1-2  3-4-5  6-7-8   0-3-6 1-4-7 2-5-8   part; the others fold first (fold.h), one
 *                                                     step, and get the result in one more.
 *
 *   collective      name         steps           sent by the busiest
 *   allreduce       recexch      log_k P (+2)    (k-1) n log_k P (+ n for each extra)
 *   allreduce       sra-knomial  2 log_k P (+2)  2 (P-1)/P n (+ n for each extra)
 *   reduce          srg-knomial  2 log_k P (+1)  (P-1)/P n + n/k
 *   broadcast       sag-knomial  2 log_k P (+1)  2 (P-1)/P n (+ n for each extra)
 *   reduce_scatter  knomial      log_k P (+2)    (p-1) b, or n where ranks fold
 *   allgather       knomial      log_k P (+2)    (p-1) b, more with extras, which get all at last
 *
 * An extra is one of the up to k-1 ranks that fold onto another. The names say scatter-reduce (sr),
 * scatter (s), allgather (ag, a), gather (g). Those with a root make it an active rank, so that
 * nothing has to be brought to it at last; the scatter and the gather have the levels of the
 * reduction and the allgather, so all windows match without a permutation.
 *
 * Scratch: recexch n, where there are two combinations or more; reductions that cut the vector need
 * none in allreduce, where partial results lie in the destination, elsewhere n/k (n where ranks
 * fold). Recexch combines in the order of ranks and gives all the same bits; sra- and srg-knomial
 * keep the order of operands too; the reduce_scatter, far first, does not.
 *
 * Used by: MPICH (recexch, k-nomial), UCC (knomial, SRA, SAG, SRG). Source: the same as for radix
 * 2, see doubling.c.
 */
#include "algorithms.h"

#include "compose.h"
#include "fold.h"
#include "recursive.h"

/* Combines `own` of all ranks, in every level the whole; the results alternate between the targets,
 * so that the last one is in targets[0]. `own` may be memory of targets[0], where their number is
 * even or the rank is not alone in its fold. */
static struct message exchange_all(struct builder *b, const struct group *g,
                                   const struct fold *fold, struct message own,
                                   const struct message targets[2])
{
    const struct group *actives = &fold->actives;
    int left = 0;
    for (int weight = 1; weight < actives->size; weight *= fold->radix)
        left++;
    own = fold_in(b, g, fold, own, targets[left % 2]);
    for (int weight = 1; weight < actives->size; weight *= fold->radix, own = targets[left % 2]) {
        left--;
        recursive_exchange(b, actives, weight, fold->radix, own, targets[left % 2]);
    }
    return own;
}

void recursive_allreduce(struct builder *b, const struct call *call, int radix)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(b, g, radix, -1);
    struct view other = view_scratch(b, &call->destination), source = call->source;
    struct message targets[2] = {view_all(b, &call->destination), view_all(b, &other)};
    int levels = 0;
    for (int weight = 1; weight < fold.power; weight *= radix)
        levels++;
    if (levels % 2 == 1 && fold_extras(&fold, g) == 0 && !fold.actives.absent)
        source = view_source_apart(b, call); /* the first result goes where the source is */
    struct message result = exchange_all(b, g, &fold, view_all(b, &source), targets);
    if (g->size == 1)
        put_copy(b, g, targets[0], result);
    fold_out(b, g, &fold, targets[0]);
}

void recursive_allreduce_scatter(struct builder *b, const struct call *call, int radix)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(b, g, radix, -1);
    struct message own = view_all(b, &call->destination);
    struct view areas[2] = {view_scratch(b, &call->source), view_scratch(b, &call->source)};
    struct message targets[2] = {view_all(b, &areas[0]), view_all(b, &areas[1])};
    const struct view *result = g->size > 1 ? &areas[0] : &call->source;
    int active = fold_active(&fold, fold.mine);

    exchange_all(b, g, &fold, view_all(b, &call->source), targets);
    if (g->rank == active)
        put_copy(b, g, own, view_block(result, g->rank));
    if (fold.rest > 0)
        put_step(b, g);
    if (g->rank != active)
        put_recv(b, g, active, own);
    for (int r = fold_first(&fold, fold.mine); r < fold_first(&fold, fold.mine + 1); r++)
        if (g->rank == active && r != active)
            put_send(b, g, r, view_block(result, r));
}

void halving_allreduce(struct builder *b, const struct call *call, int radix,
                       enum recursive_order order)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(b, g, radix, -1);
    struct message whole = view_all(b, &call->destination);
    struct view have = view_of(b, fold_in(b, g, &fold, view_all(b, &call->source), whole));
    struct view source = view_cut(b, &have, fold.power);
    struct view result = view_cut(b, &call->destination, fold.power);
    recursive_halving(b, &fold.actives, radix, order, &source, &result);
    recursive_doubling(b, &fold.actives, radix, order, &result);
    fold_out(b, g, &fold, whole);
}

void halving_reduce(struct builder *b, const struct call *call, int radix,
                    enum recursive_order order)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(b, g, radix, call->root);
    struct view partial =
        g->rank == call->root ? call->destination : view_scratch(b, &call->source);
    struct view have =
        view_of(b, fold_in(b, g, &fold, view_all(b, &call->source), view_all(b, &partial)));
    have = view_cut(b, &have, fold.power);
    partial = view_cut(b, &partial, fold.power);
    recursive_halving(b, &fold.actives, radix, order, &have, &partial);
    recursive_gather(b, &fold.actives, radix, order, fold_index(&fold, call->root), &partial);
}

void halving_broadcast(struct builder *b, const struct call *call, int radix,
                       enum recursive_order order)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(b, g, radix, call->root);
    int root = fold_index(&fold, call->root);
    struct view destination = view_cut(b, &call->destination, fold.power), kept = destination;
    if (g->rank == call->root) {
        int own = recursive_block(radix, fold.power, order, root);
        kept = view_cut(b, &call->source, fold.power);
        put_copy(b, g, view_block(&destination, own), view_block(&kept, own));
    }
    recursive_scatter(b, &fold.actives, radix, order, root, &kept);
    recursive_doubling(b, &fold.actives, radix, order, &destination);
    fold_out(b, g, &fold, view_all(b, &kept));
}

/* Every rank gets its block from the active one that ended with its group's blocks. */
static void hand_out(struct builder *b, const struct group *g, const struct fold *fold,
                     enum recursive_order order, const struct view *partial)
{
    int block = recursive_block(fold->radix, fold->power, order, fold->mine);
    int active = fold_active(fold, fold->mine), from = fold_active(fold, block);
    put_step(b, g);
    for (int r = fold_first(fold, block); r < fold_first(fold, block + 1); r++)
        if (g->rank == active && r != active)
            put_send(b, g, r, view_block(partial, r));
    if (g->rank != from)
        put_recv(b, g, from, view_block(partial, g->rank));
}

void halving_reduce_scatter(struct builder *b, const struct call *call, int radix,
                            enum recursive_order order)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(b, g, radix, -1);
    struct message own = view_all(b, &call->destination);
    /* In place, the own block lies among those that are still to be sent. */
    struct view partial =
        call->in_place ? view_scratch(b, &call->source) : view_apart(b, g, &call->source, own);
    struct view have = call->source, all = partial;
    if (fold.rest > 0) {
        fold_in(b, g, &fold, view_all(b, &call->source), view_all(b, &partial));
        if (fold_extras(&fold, g) > 0)
            have = partial;
    }
    have = fold_blocks(b, &fold, &have);
    all = fold_blocks(b, &fold, &partial);
    recursive_halving(b, &fold.actives, radix, order, &have, &all);
    if (fold.rest > 0 || order == NEAR_FIRST)
        hand_out(b, g, &fold, order, &partial);
    put_copy(b, g, own, view_block(&partial, g->rank));
}

void doubling_allgather(struct builder *b, const struct group *g, int radix, const struct view *all)
{
    struct fold fold = fold_make(b, g, radix, -1);
    struct view blocks = fold_blocks(b, &fold, all);
    int active = fold_active(&fold, fold.mine);
    int first = fold_first(&fold, fold.mine), end = fold_first(&fold, fold.mine + 1);
    if (fold.rest > 0)
        put_step(b, g);
    if (g->rank != active)
        put_send(b, g, active, view_block(all, g->rank));
    for (int r = first; r < end; r++)
        if (g->rank == active && r != active)
            put_recv(b, g, r, view_block(all, r));
    recursive_doubling(b, &fold.actives, radix, FAR_FIRST, &blocks);
    if (fold.rest > 0)
        put_step(b, g);
    if (g->rank != active)
        put_recv(b, g, active, view_blocks(b, all, g->rank + 1, 1, g->size - 1));
    for (int r = first; r < end; r++)
        if (g->rank == active && r != active)
            put_send(b, g, r, view_blocks(b, all, r + 1, 1, g->size - 1));
}

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
    .summary = "the whole vector is exchanged with all that differ in one digit, base k",
    .rounds = "log_k P (+2)",
    .sent = "(k-1)n log_k P (+n each extra)",
    .users = "MPICH, UCC (knomial)",
    .options = {RADIX},
    .write = recexch_allreduce,
};

const struct algorithm allreduce_sra_knomial = {
    .name = "sra-knomial",
    .collectives = SERVES(ALLREDUCE),
    .summary = "scatter-reduce by digits, base k, then allgather the same way back",
    .rounds = "2 log_k P (+2)",
    .sent = "2(P-1)/P n (+n each extra)",
    .users = "UCC, MPICH",
    .options = {RADIX},
    .write = sra_knomial_allreduce,
};

const struct algorithm reduce_srg_knomial = {
    .name = "srg-knomial",
    .collectives = SERVES(REDUCE),
    .summary = "scatter-reduce by digits, base k, then gather the same way back",
    .rounds = "2 log_k P (+1)",
    .sent = "(P-1)/P n + n/k",
    .users = "UCC",
    .options = {RADIX},
    .write = srg_knomial_reduce,
};

const struct algorithm broadcast_sag_knomial = {
    .name = "sag-knomial",
    .collectives = SERVES(BROADCAST),
    .summary = "scatter by digits, base k, then allgather the same way back",
    .rounds = "2 log_k P (+1)",
    .sent = "2(P-1)/P n (+n each extra)",
    .users = "UCC",
    .options = {RADIX},
    .write = sag_knomial_broadcast,
};

const struct algorithm reduce_scatter_knomial = {
    .name = "knomial",
    .collectives = SERVES(REDUCE_SCATTER) | SERVES(REDUCE_SCATTERV),
    .summary = "the window of blocks falls into k parts in each level, of which one is kept",
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
