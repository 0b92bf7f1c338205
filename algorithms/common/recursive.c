/*
 * recursive.c - exchanges among k^e ranks, level by level: the kernels, and the collectives around
 * them for any number of ranks.
 */
#include "algorithms/common/common.h"

/*
 * The fold to a power of the radix.
 *
 * Group v has one rank, and k - 1 of the rest until that is used up: it begins at
 * v + min(v (k - 1), rest).
 *
 * Used by: MPICH and Open MPI (the odd rank of a pair is active), HCCL (the even one, or the root).
 */
/* Group v has the group ranks fold_first(v) .. fold_first(v + 1) - 1 of g. */
static int fold_first(const struct fold *fold, int v)
{
    int extra = v * (fold->radix - 1);
    return v + (extra < fold->rest ? extra : fold->rest);
}

/* Its active rank. */
static int fold_active(const struct fold *fold, int v)
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

/* The number of ranks that send this rank their data; 0 if it is not active. */
static int fold_extras(const struct fold *fold, const struct group *g)
{
    bool active = g->rank == fold_active(fold, fold->mine);
    return active ? fold_first(fold, fold->mine + 1) - fold_first(fold, fold->mine) - 1 : 0;
}

/* The ranks' blocks, joined by group: P blocks. */
static struct view fold_blocks(struct builder *b, const struct fold *fold,
                               const struct view *blocks)
{
    struct message *messages = message_array(b, fold->power);
    for (int v = 0; messages && v < fold->power; v++) {
        int first = fold_first(fold, v);
        messages[v] = view_blocks(b, blocks, first, 1, fold_first(fold, v + 1) - first);
    }
    return (struct view){messages, messages ? fold->power : 0};
}

/* One step, if p is not P: the active rank combines the data of its group into `to`, which may be
 * the same memory as `own`. Returns where the result is: `own` if the rank is alone. */
/* The active rank combines its neighbours' data one after the other, from the ranks below, then the
 * ranks above, so that it always holds the combination of a run of ranks. */
static struct message fold_in(struct builder *b, const struct group *g, const struct fold *fold,
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

/*
 * Exchanges among k^e ranks.
 */
/* One level of a rank. */
struct level {
    int weight; /* distance to the rank with the next digit */
    int digit;  /* the rank's digit of that weight */
    int first;  /* first block of its window */
    int part;   /* blocks in each of the k parts of the window */
};

static int level_count(int radix, int ranks)
{
    int count = 0;
    for (; ranks > 1; ranks /= radix)
        count++;
    return count;
}

static struct level level_of(int radix, int ranks, enum recursive_order order, int v, int index)
{
    struct level level = {.part = ranks};
    for (int i = 0;; i++) {
        level.weight = order == NEAR_FIRST ? ranks / level.part : level.part / radix;
        level.part /= radix;
        level.digit = v / level.weight % radix;
        if (i == index)
            return level;
        level.first += level.digit * level.part;
    }
}

/* The rank that differs in this level only. */
static int level_peer(const struct level *level, int v, int digit)
{
    return v + (digit - level->digit) * level->weight;
}

/* Part `digit` of the window. */
static struct message level_part(struct builder *b, const struct view *view,
                                 const struct level *level, int digit)
{
    return view_blocks(b, view, level->first + digit * level->part, 1, level->part);
}

/* The block that group rank v ends with; also the group rank that ends with block v. */
static int recursive_block(int radix, int ranks, enum recursive_order order, int v)
{
    int levels = level_count(radix, ranks);
    if (levels == 0)
        return 0;
    struct level last = level_of(radix, ranks, order, v, levels - 1);
    return last.first + last.digit;
}

/* Combines from this rank's digit outwards: the digits below, then the digits above. */
void recursive_halving(struct builder *b, const struct group *g, int radix,
                       enum recursive_order order, const struct view *source,
                       const struct view *partial)
{
    int v = g->rank, levels = level_count(radix, g->size);
    struct view have = *source;
    if (levels == 0)
        put_copy(b, g, view_all(b, partial), view_all(b, source));
    for (int i = 0; i < levels; i++, have = *partial) {
        struct level level = level_of(radix, g->size, order, v, i);
        struct message to = level_part(b, partial, &level, level.digit);
        struct message so_far = level_part(b, &have, &level, level.digit);
        put_step(b, g);
        for (int k = 1; k < radix; k++) {
            int digit = (level.digit + k) % radix;
            put_send(b, g, level_peer(&level, v, digit), level_part(b, &have, &level, digit));
        }
        for (int digit = level.digit - 1; digit >= 0; digit--, so_far = to)
            put_recv_reduce(b, g, level_peer(&level, v, digit), to, so_far);
        for (int digit = level.digit + 1; digit < radix; digit++, so_far = to)
            put_recv_reduce(b, g, level_peer(&level, v, digit), to, so_far);
    }
}

/* Before: each rank has its block of `all`. Afterwards every rank has all blocks. */
static void recursive_doubling(struct builder *b, const struct group *g, int radix,
                               enum recursive_order order, const struct view *all)
{
    int v = g->rank;
    for (int i = level_count(radix, g->size) - 1; i >= 0; i--) {
        struct level level = level_of(radix, g->size, order, v, i);
        put_step(b, g);
        for (int k = 1; k < radix; k++) {
            int to = (level.digit + k) % radix, from = (level.digit - k + radix) % radix;
            put_send(b, g, level_peer(&level, v, to), level_part(b, all, &level, level.digit));
            put_recv(b, g, level_peer(&level, v, from), level_part(b, all, &level, from));
        }
    }
}

/* The first level from which on the digits of v and the root are equal. In the level before, the
 * two differ in that level's digit only. */
static int level_joined(int radix, int ranks, enum recursive_order order, int v, int root)
{
    int joined = level_count(radix, ranks);
    for (; joined > 0; joined--)
        if (level_of(radix, ranks, order, v, joined - 1).digit !=
            level_of(radix, ranks, order, root, joined - 1).digit)
            break;
    return joined;
}

void recursive_gather(struct builder *b, const struct group *g, int radix,
                      enum recursive_order order, int root, const struct view *kept)
{
    int v = g->rank, joined = level_joined(radix, g->size, order, v, root);
    for (int i = level_count(radix, g->size) - 1; i >= 0; i--) {
        struct level level = level_of(radix, g->size, order, v, i);
        int home = level_of(radix, g->size, order, root, i).digit;
        put_step(b, g);
        if (i == joined - 1)
            put_send(b, g, level_peer(&level, v, home), level_part(b, kept, &level, level.digit));
        for (int digit = 0; digit < radix && i >= joined; digit++)
            if (digit != home)
                put_recv(b, g, level_peer(&level, v, digit), level_part(b, kept, &level, digit));
    }
}

void recursive_scatter(struct builder *b, const struct group *g, int radix,
                       enum recursive_order order, int root, const struct view *kept)
{
    int v = g->rank, levels = level_count(radix, g->size);
    int joined = level_joined(radix, g->size, order, v, root);
    for (int i = 0; i < levels; i++) {
        struct level level = level_of(radix, g->size, order, v, i);
        int home = level_of(radix, g->size, order, root, i).digit;
        put_step(b, g);
        if (i == joined - 1)
            put_recv(b, g, level_peer(&level, v, home), level_part(b, kept, &level, level.digit));
        for (int digit = 0; digit < radix && i >= joined; digit++)
            if (digit != home)
                put_send(b, g, level_peer(&level, v, digit), level_part(b, kept, &level, digit));
    }
}

void recursive_exchange(struct builder *b, const struct group *g, int weight, int radix,
                        struct message own, struct message to)
{
    int mine = g->rank / weight % radix, first = g->rank - mine * weight;
    put_step(b, g);
    for (int k = 1; k < radix; k++)
        put_send(b, g, first + (mine + k) % radix * weight, own);
    /* The two lowest digits are combined at once, if one of them is this rank's. */
    if (mine < 2)
        put_recv_reduce(b, g, first + (1 - mine) * weight, to, own);
    else
        put_recv(b, g, first, to);
    for (int digit = mine < 2 ? 2 : 1; digit < radix; digit++) {
        if (digit == mine)
            put_reduce(b, g, to, to, own);
        else
            put_recv_reduce(b, g, first + digit * weight, to, to);
    }
}

/* The collectives: fold, exchange, distribute. */

/* Combines `own` of all ranks, the whole vector in every level. The results alternate between the
 * targets; the last one is in targets[0]. `own` may be the memory of targets[0], if the number of
 * levels is even or the rank is not alone in its fold. */
static struct message exchange_all(struct builder *b, const struct group *g,
                                   const struct fold *fold, struct message own,
                                   const struct message targets[2])
{
    const struct group *actives = &fold->actives;
    int left = level_count(fold->radix, actives->size);
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
    if (level_count(radix, fold.power) % 2 == 1 && fold_extras(&fold, g) == 0 &&
        !fold.actives.absent)
        source = view_source_apart(b, call); /* the first result would overwrite the source */
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

/* Every rank gets its block from the active rank that ends with its group's blocks. */
static void distribute(struct builder *b, const struct group *g, const struct fold *fold,
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
    /* In place, this rank's block lies among unsent blocks. */
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
        distribute(b, g, &fold, order, &partial);
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
