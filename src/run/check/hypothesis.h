/*
 * hypothesis.h - what may have happened to a result, and what it predicts.
 *
 * A hypothesis predicts what each sample (evidence.h) would hold. It explains a wrong sample if it
 * predicts the very bytes that are there. It is contradicted by a right sample for which it
 * predicts other bytes.
 */
#ifndef CCTEST_RUN_CHECK_HYPOTHESIS_H
#define CCTEST_RUN_CHECK_HYPOTHESIS_H

#include "run/check/evidence.h"
#include "run/check/rank_set.h"

enum hypothesis_kind {
    HYPOTHESIS_UNWRITTEN, /* the element was never written (but divided, if the operator divides) */
    HYPOTHESIS_MISSING,   /* the contributions of `set` are missing */
    HYPOTHESIS_DOUBLED,   /* they entered twice */
    HYPOTHESIS_STALE,     /* they are of the iteration before (data movement: the element is) */
    HYPOTHESIS_POISONED,  /* unwritten memory was combined instead of them */
    HYPOTHESIS_ELSEWHERE, /* rank `source`'s element `from` + shift stands there */
};

struct hypothesis {
    enum hypothesis_kind kind;
    struct rank_set set; /* reductions */
    int source;  /* HYPOTHESIS_ELSEWHERE: the rank of the element; EVERY_RANK for reductions */
    int instead; /* HYPOTHESIS_ELSEWHERE: the rank of the elements that belong there */
    int64_t shift;
    bool before; /* HYPOTHESIS_ELSEWHERE: of the iteration before */
};

/* Do both say the same, wherever the elements come from and belong (`source`, `instead`)? */
bool hypothesis_same(const struct hypothesis *a, const struct hypothesis *b);

/* to = from, divided if the operator divides at the end; else it does nothing. `to` is `from` or
 * apart. */
void hypothesis_finish(const struct evidence *evidence, char *to, const char *from, size_t count);

/* Samples from `first` on that the hypothesis explains without contradiction, up to and
 * including the last wrong one. 0: it does not explain sample `first`, which is wrong. */
size_t hypothesis_reach(const struct evidence *evidence, const struct hypothesis *hypothesis,
                        size_t first);

#endif
