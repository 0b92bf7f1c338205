/*
 * recursive.c - exchanges among k^e ranks, level by level: the kernels.
 */
#include "recursive.h"

/* One level, as a rank sees it. */
struct level {
    int weight; /* distance to the one with the next digit */
    int digit;  /* the rank's digit of that weight */
    int first;  /* block where its window begins */
    int part;   /* blocks in each of the k parts of the window */
};

static int level_count(int radix, int places)
{
    int count = 0;
    for (; places > 1; places /= radix)
        count++;
    return count;
}

static struct level level_of(int radix, int places, enum recursive_order order, int v, int index)
{
    struct level level = {.part = places};
    for (int i = 0;; i++) {
        level.weight = order == NEAR_FIRST ? places / level.part : level.part / radix;
        level.part /= radix;
        level.digit = v / level.weight % radix;
        if (i == index)
            return level;
        level.first += level.digit * level.part;
    }
}

/* The place that differs in this level only. */
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

int recursive_block(int radix, int places, enum recursive_order order, int v)
{
    int levels = level_count(radix, places);
    if (levels == 0)
        return 0;
    struct level last = level_of(radix, places, order, v, levels - 1);
    return last.first + last.digit;
}

/* The own part grows from its own place in the order of digits: those below, then those above. */
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

void recursive_doubling(struct builder *b, const struct group *g, int radix,
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

/* The first level from which on the digits of v and the root are the same. Before it, v holds
 * nothing of the root's; in the level before, the root's digit is all that v lacks. */
static int level_joined(int radix, int places, enum recursive_order order, int v, int root)
{
    int joined = level_count(radix, places);
    for (; joined > 0; joined--)
        if (level_of(radix, places, order, v, joined - 1).digit !=
            level_of(radix, places, order, root, joined - 1).digit)
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
    /* The two lowest are combined at once, if one of them is here already. */
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
