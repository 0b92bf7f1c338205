/*
 * verify.h - proves schedules: runs all ranks' programs in one process, on symbols.
 *
 * The verifier runs the schedules of all ranks with unbuffered channels and whole operations. An
 * element holds a symbol: the multiset of contributions (rank, source element) to it. The verifier
 * proves that every send meets a receive of the same length, that no deadlock occurs, that no
 * operation reads an unwritten element, or writes to a source or outside a buffer, and that every
 * destination element is exactly that of the contract.
 */
#ifndef CCTEST_COLLECTIVE_PROVE_VERIFY_H
#define CCTEST_COLLECTIVE_PROVE_VERIFY_H

#include "collective/schedule/schedule.h"

struct verification {
    bool right;
    char error[512]; /* if not: one sentence with rank, operation and element */
    /* Counted. */
    int steps;                   /* rounds: the maximum of all ranks */
    size_t *messages, *elements; /* sent by each rank; freed by verification_free() */
};

/* `schedules[r]` is rank r's, all of one problem. `idempotent`: contributions are a set (min, max,
 * bor), not a multiset. */
void verify(const struct schedule *const *schedules, int ranks, bool idempotent,
            struct verification *verification);

/* The same, and where the elements of operations come from: origins[r] has a number for each element
 * of each operation of rank r, one operation after the other. It is a source element that
 * contributes to what the operation moves: source elements are counted from 0 over all ranks. The
 * arrays are the caller's. */
void verify_origins(const struct schedule *const *schedules, int ranks, bool idempotent,
                    uint32_t *const *origins, struct verification *verification);
void verification_free(struct verification *verification);

#endif
