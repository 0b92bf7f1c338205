/*
 * rank_set.h - the sets of ranks that a hypothesis is about: the partial result of such a set may
 * travel as one message.
 */
#ifndef CCTEST_RUN_CHECK_RANK_SET_H
#define CCTEST_RUN_CHECK_RANK_SET_H

#include <stdbool.h>

enum set_shape {
    SET_INTERVAL, /* `length` ranks from `first` on, cyclically: rings, trees, near halves first */
    SET_CLASS,    /* ranks that leave `first` when divided by `modulus`: far halves first */
    SET_FOLDED,   /* the same of ranks' places after folding them in pairs to a power of two */
};

struct rank_set {
    enum set_shape shape;
    int first, length, modulus;
    bool inverted; /* all ranks but these */
};

/* `ranks`: of the job. */
bool rank_set_has(const struct rank_set *set, int rank, int ranks);
int rank_set_size(const struct rank_set *set, int ranks);

/* The first rank that is in the set (`in`), or that is not. The last rank where there is none. */
int rank_set_first(const struct rank_set *set, int ranks, bool in);

/* Does `outer` have all ranks of `inner`? */
bool rank_set_within(const struct rank_set *inner, const struct rank_set *outer, int ranks);

#endif
