/*
 * fold.h - the fold: of p ranks, P take part, the largest power of a radix k up to p.
 *
 * Exchanges between partners whose places differ in one digit need a power of k. So p ranks become
 * P groups of neighbours, the first of them with up to k members, the last with one. One member of
 * each is active: it begins with what the others have, and hands them the result at the end.
 *
 *     p = 6, k = 2          p = 6, k = 2, even ones       p = 6, k = 3
 *     0 -> 1  2 -> 3  4  5    0 <- 1  2 <- 3  4  5         0, 1 -> 2  3 -> 4  5
 *        v=0     v=1  2  3   v=0     v=1     2  3                v=0    v=1  2
 *
 * The groups are runs of ranks, so a fold keeps operands in order. All ranks write the same
 * program: those that are not active are absent from the group of the active ones.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_FOLD_H
#define CCTEST_ALGORITHMS_COMMON_FOLD_H

#include "schedule/algorithm.h"

struct fold {
    int radix; /* k */
    int power; /* P */
    int rest;  /* p - P */
    int seat;  /* place of the active one in its group, or its last one if it is smaller */
    int mine;  /* v of the group that this rank is in */
    struct group actives; /* place v: the active one of group v */
};

/* The fold of `g`. The last of each group is active; but if `favourite` is a place in g, and not
 * -1, then it is active, and all others that sit as it does in their groups. */
struct fold fold_make(struct builder *b, const struct group *g, int radix, int favourite);

/* Group v is the places fold_first(v) .. fold_first(v + 1) - 1 of g. */
int fold_first(const struct fold *fold, int v);
int fold_active(const struct fold *fold, int v);    /* the place in g of its active one */
int fold_index(const struct fold *fold, int place); /* the v of the group that `place` is in */

/* How many hand what they have to this rank; 0 if it is not active. */
int fold_extras(const struct fold *fold, const struct group *g);

/* Blocks of ranks joined by group: P blocks. */
struct view fold_blocks(struct builder *b, const struct fold *fold, const struct view *blocks);

/* One step, if there is anything to fold: the active one combines what all of its group have into
 * `to`, which may be the same memory as `own`. Returns where it is: `own` if it is alone. */
struct message fold_in(struct builder *b, const struct group *g, const struct fold *fold,
                       struct message own, struct message to);
/* One step, if there is anything to fold: the others get what the active one has in `result`. */
void fold_out(struct builder *b, const struct group *g, const struct fold *fold,
              struct message result);

#endif
