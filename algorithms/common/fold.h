/*
 * fold.h - the fold: of p ranks, P take part, the largest power of a radix k up to p.
 *
 * Exchanges between partners whose ranks differ in one digit need a power of k. So p ranks become P
 * groups of neighbours, the first of them with up to k members, the last with one. One member of
 * each is active: it begins with the others' data, and sends them the result at the end.
 *
 *     p = 6, k = 2          p = 6, k = 2, even ones       p = 6, k = 3
 *     0 -> 1  2 -> 3  4  5    0 <- 1  2 <- 3  4  5         0, 1 -> 2  3 -> 4  5
 *        v=0     v=1  2  3   v=0     v=1     2  3                v=0    v=1  2
 *
 * The groups are runs of ranks, so a fold keeps operands in order. All ranks write the same
 * program: ranks that are not active are absent from the group of the active ones.
 */
#ifndef CCTEST_ALGORITHMS_COMMON_FOLD_H
#define CCTEST_ALGORITHMS_COMMON_FOLD_H

#include "collective/schedule/algorithm.h"

struct fold {
    int radix;  /* k */
    int power;  /* P */
    int rest;   /* p - P */
    int chosen; /* index of the active rank in its group; in a smaller group the last is active */
    int mine;   /* v of the group that this rank is in */
    struct group actives; /* group rank v: the active rank of group v */
};

/* The fold of `g`. `favourite` -1: the last rank of each group is active. Else `favourite` (a group
 * rank of g) is active, and so are the ranks with the same index in their groups. */
struct fold fold_make(struct builder *b, const struct group *g, int radix, int favourite);

/* Group v has the group ranks fold_first(v) .. fold_first(v + 1) - 1 of g. */
int fold_first(const struct fold *fold, int v);
int fold_active(const struct fold *fold, int v);   /* its active rank */
int fold_index(const struct fold *fold, int rank); /* the v of the group of `rank` */

/* The number of ranks that send this rank their data; 0 if it is not active. */
int fold_extras(const struct fold *fold, const struct group *g);

/* The ranks' blocks, joined by group: P blocks. */
struct view fold_blocks(struct builder *b, const struct fold *fold, const struct view *blocks);

/* One step, if p is not P: the active rank combines the data of its group into `to`, which may be
 * the same memory as `own`. Returns where the result is: `own` if the rank is alone. */
struct message fold_in(struct builder *b, const struct group *g, const struct fold *fold,
                       struct message own, struct message to);
/* One step, if p is not P: the active rank sends `result` to the others of its group. */
void fold_out(struct builder *b, const struct group *g, const struct fold *fold,
              struct message result);

#endif
