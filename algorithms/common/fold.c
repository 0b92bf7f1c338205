/*
 * fold.c - the fold to a power of the radix.
 *
 * Group v has one rank, and k - 1 of the rest until that is used up: it begins at
 * v + min(v (k - 1), rest).
 *
 * Used by: MPICH and Open MPI (the odd rank of a pair is active), HCCL (the even one, or the root).
 */
#include "algorithms/common/common.h"

int fold_first(const struct fold *fold, int v)
{
    int extra = v * (fold->radix - 1);
    return v + (extra < fold->rest ? extra : fold->rest);
}

int fold_active(const struct fold *fold, int v)
{
    int wanted = fold_first(fold, v) + fold->chosen, last = fold_first(fold, v + 1) - 1;
    return wanted < last ? wanted : last;
}

int fold_index(const struct fold *fold, int rank)
{
    int full = fold->rest / (fold->radix - 1); /* groups of `radix` ranks; the next has fewer */
    int behind = rank - full * fold->radix, next = 1 + fold->rest % (fold->radix - 1);
    return behind < 0 ? rank / fold->radix : behind < next ? full : full + 1 + behind - next;
}

/* The active ranks as a group. */
static struct group fold_actives(struct builder *b, const struct group *g, const struct fold *fold)
{
    if (fold->rest == 0)
        return *g;
    int *members = index_array(b, fold->power);
    for (int v = 0; members && v < fold->power; v++)
        members[v] = fold_active(fold, v);
    return group_part(b, g, members, members ? fold->power : 0);
}

struct fold fold_make(struct builder *b, const struct group *g, int radix, int favourite)
{
    struct fold fold = {.radix = radix, .power = 1, .chosen = radix - 1};
    while (fold.power <= g->size / radix)
        fold.power *= radix;
    fold.rest = g->size - fold.power;
    if (favourite >= 0)
        fold.chosen = favourite - fold_first(&fold, fold_index(&fold, favourite));
    fold.mine = fold_index(&fold, g->rank);
    fold.actives = fold_actives(b, g, &fold);
    return fold;
}

int fold_extras(const struct fold *fold, const struct group *g)
{
    bool active = g->rank == fold_active(fold, fold->mine);
    return active ? fold_first(fold, fold->mine + 1) - fold_first(fold, fold->mine) - 1 : 0;
}

struct view fold_blocks(struct builder *b, const struct fold *fold, const struct view *blocks)
{
    struct message *messages = message_array(b, fold->power);
    for (int v = 0; messages && v < fold->power; v++) {
        int first = fold_first(fold, v);
        messages[v] = view_blocks(b, blocks, first, 1, fold_first(fold, v + 1) - first);
    }
    return (struct view){messages, messages ? fold->power : 0};
}

/* The active rank combines its neighbours' data one after the other, from the ranks below, then the
 * ranks above, so that it always holds the combination of a run of ranks. */
struct message fold_in(struct builder *b, const struct group *g, const struct fold *fold,
                       struct message own, struct message to)
{
    int active = fold_active(fold, fold->mine);
    if (fold->rest == 0)
        return own;
    put_step(b, g);
    if (g->rank != active) {
        put_send(b, g, active, own);
        return own;
    }
    for (int r = active - 1; r >= fold_first(fold, fold->mine); r--, own = to)
        put_recv_reduce(b, g, r, to, own);
    for (int r = active + 1; r < fold_first(fold, fold->mine + 1); r++, own = to)
        put_recv_reduce(b, g, r, to, own);
    return own;
}

void fold_out(struct builder *b, const struct group *g, const struct fold *fold,
              struct message result)
{
    int active = fold_active(fold, fold->mine);
    if (fold->rest == 0)
        return;
    put_step(b, g);
    if (g->rank != active)
        put_recv(b, g, active, result);
    for (int r = fold_first(fold, fold->mine); r < fold_first(fold, fold->mine + 1); r++)
        if (g->rank == active && r != active)
            put_send(b, g, r, result);
}
