/*
 * doubling.c - exchanges between partners whose distance doubles: recursive doubling, and
 * Rabenseifner's recursive halving and doubling.
 *
 *   step 1      step 2      step 3        P = largest power of two up to p ranks take part.
 *   0 - 1       0 - 2       0 - 4         The p-P others fold first: of the pairs (0,1), (2,3), ...
 *   2 - 3       1 - 3       1 - 5         the even rank hands its vector to the odd one, and gets
 *   4 - 5       4 - 6       2 - 6         the result at last.
 *   6 - 7       5 - 7       3 - 7
 *
 *   recursive-doubling   the whole vector in each step: log2 P (+2) steps, sent n log2 P (+n)
 *   rabenseifner         half of what is left, then the way back: 2 log2 P (+2) steps,
 *                        sent 2(P-1)/P n (+n)
 *
 * Recursive doubling must not receive into what it still sends: it alternates between the
 * destination and one scratch vector, so that the last result lands in the destination.
 * Rabenseifner keeps one half and sends the other; the two never meet.
 *
 * Used by: MPICH, Open MPI, HCCL. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective
 * communication operations in MPICH", IJHPCA 2005.
 */
#include "algorithms.h"

/* The part that this rank plays. Active ranks have an index v among P. */
struct fold {
    int power;   /* P */
    int rest;    /* p - P */
    int index;   /* v; -1: this rank has handed its vector to its partner */
    int partner; /* the other rank of the folded pair; -1: none */
};

static struct fold fold_make(int p, int r)
{
    struct fold fold = {.power = 1, .partner = -1};
    while (2 * fold.power <= p)
        fold.power *= 2;
    fold.rest = p - fold.power;
    if (r >= 2 * fold.rest) {
        fold.index = r - fold.rest;
    } else {
        fold.index = r % 2 ? r / 2 : -1;
        fold.partner = r ^ 1;
    }
    return fold;
}

/* The rank of active index v. */
static int fold_rank(const struct fold *fold, int v)
{
    return v < fold->rest ? 2 * v + 1 : v + fold->rest;
}

static int log2_of(int power)
{
    int log = 0;
    while (1 << log < power)
        log++;
    return log;
}

/* What a folded even rank does: its vector goes away, the result comes back `steps` rounds
 * later. */
static void fold_away(struct builder *b, const struct call *call, const struct fold *fold,
                      int steps)
{
    put_step(b, call->group);
    put_send(b, call->group, fold->partner, view_all(b, &call->source));
    for (int k = 0; k <= steps; k++)
        put_step(b, call->group);
    put_recv(b, call->group, fold->partner, view_all(b, &call->destination));
}

static void recursive_doubling_allreduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(g->size, g->rank);
    int exchanges = log2_of(fold.power);
    if (fold.index < 0) {
        fold_away(b, call, &fold, exchanges);
        return;
    }
    /* Counting back from the last result, which belongs into the destination, results alternate. */
    int results = exchanges + (fold.partner >= 0);
    bool into_itself = call->in_place && fold.partner < 0 && results % 2 == 1;
    struct view own = into_itself ? view_source_apart(b, call) : call->source;
    struct view other = view_scratch(b, &call->destination);
    struct message targets[2] = {view_all(b, &call->destination), view_all(b, &other)};
    struct message have = view_all(b, &own);
    if (results == 0)
        put_copy(b, g, targets[0], have);
    if (fold.rest > 0)
        put_step(b, g);
    if (fold.partner >= 0) {
        struct message target = targets[--results % 2];
        put_recv_reduce(b, g, fold.partner, target, have);
        have = target;
    }
    for (int k = 0; k < exchanges; k++) {
        int peer = fold_rank(&fold, fold.index ^ (1 << k));
        struct message target = targets[--results % 2];
        put_step(b, g);
        put_send(b, g, peer, have);
        put_recv_reduce(b, g, peer, target, have);
        have = target;
    }
    if (fold.rest > 0)
        put_step(b, g);
    if (fold.partner >= 0)
        put_send(b, g, fold.partner, have);
}

/* Halving: the lower half of the window is kept where bit k of v is 0. Doubling takes the same
 * partners in reverse and sends back what was kept. */
static void rabenseifner_exchange(struct builder *b, const struct call *call,
                                  const struct fold *fold, struct view have,
                                  const struct view *result)
{
    const struct group *g = call->group;
    int first = 0, count = fold->power, exchanges = log2_of(fold->power);
    for (int k = 0; k < exchanges; k++) {
        int peer = fold_rank(fold, fold->index ^ (1 << k)), half = count / 2;
        bool upper = fold->index >> k & 1;
        int kept = first + (upper ? half : 0), given = first + (upper ? 0 : half);
        put_step(b, g);
        put_send(b, g, peer, view_blocks(b, &have, given, 1, half));
        put_recv_reduce(b, g, peer, view_blocks(b, result, kept, 1, half),
                        view_blocks(b, &have, kept, 1, half));
        have = *result;
        first = kept;
        count = half;
    }
    for (int k = exchanges - 1; k >= 0; k--) {
        int peer = fold_rank(fold, fold->index ^ (1 << k));
        int back = fold->index >> k & 1 ? first - count : first + count;
        put_step(b, g);
        put_send(b, g, peer, view_blocks(b, result, first, 1, count));
        put_recv(b, g, peer, view_blocks(b, result, back, 1, count));
        first = first < back ? first : back;
        count *= 2;
    }
}

static void rabenseifner_allreduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct fold fold = fold_make(g->size, g->rank);
    if (fold.index < 0) {
        fold_away(b, call, &fold, 2 * log2_of(fold.power));
        return;
    }
    struct message whole = view_all(b, &call->destination);
    struct view source = call->source;
    if (fold.rest > 0)
        put_step(b, g);
    if (fold.partner >= 0) {
        put_recv_reduce(b, g, fold.partner, whole, view_all(b, &source));
        source = call->destination;
    }
    struct view have = view_cut(b, &source, fold.power);
    struct view result = view_cut(b, &call->destination, fold.power);
    if (fold.power == 1)
        put_copy(b, g, whole, view_all(b, &source));
    rabenseifner_exchange(b, call, &fold, have, &result);
    if (fold.rest > 0)
        put_step(b, g);
    if (fold.partner >= 0)
        put_send(b, g, fold.partner, whole);
}

const struct algorithm allreduce_recursive_doubling = {
    .name = "recursive-doubling",
    .aliases = {"rd", "hd-oneshot"},
    .collectives = SERVES(ALLREDUCE),
    .summary = "the whole vector is exchanged with r xor 1, 2, 4, ...",
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
