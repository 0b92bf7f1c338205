/*
 * verify.h - proves schedules: all ranks' programs in one process, with symbols for data.
 *
 * The verifier runs the schedules of all ranks with unbuffered channels and whole operations, in
 * which an element's value is the multiset of contributions (rank, source element) that it holds.
 * It shows that every send meets its receive with the same length, that nothing deadlocks, that
 * nothing is read before it was written, or written outside or into a source, and that every
 * destination element is exactly the contract's.
 */
#ifndef CCTEST_PROVE_VERIFY_H
#define CCTEST_PROVE_VERIFY_H

#include "schedule/schedule.h"

struct verification {
    bool right;
    char error[512]; /* if not: one sentence with rank, operation and element */
    /* Counted. */
    int steps;                   /* rounds: the most of any rank */
    size_t *messages, *elements; /* sent by each rank; freed by verification_free() */
};

/* `schedules[r]` is rank r's, all of one problem. `idempotent`: contributions are a set (min, max,
 * bor), not a multiset. */
void verify(const struct schedule *const *schedules, int ranks, bool idempotent,
            struct verification *verification);
void verification_free(struct verification *verification);

#endif
