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

/* Runs the schedules byte by byte (one byte an element), serving what is ready in random order and
 * random pieces through slots of random size and number, and compares every rank's destination with
 * what program order gives. Combining does not commute here, so that the order of reductions is
 * proved to be fixed as well. Writes what differed, or who waits for whom, into `error`. */
bool shake(const struct schedule *const *schedules, int ranks, uint64_t seed, char *error,
           size_t size);

/* What shake() draws from its seed, for a caller that wants a certain run. */
struct shaking {
    uint64_t seed;            /* of the inputs and of what is left to chance */
    size_t slots, slot_bytes; /* of every lane from one rank to another; at least 1 */
    size_t most;              /* bytes that one operation moves at a time, at most; at least 1 */
    /* Lazy operations are served only when nothing else can move, so that all others overtake them
     * as far as they are allowed to: one in `lazy_share` (0: none), and operation `lazy_operation`
     * of rank `lazy_rank` (-1: all of its operations; lazy_rank -1: none). */
    unsigned lazy_share;
    int lazy_rank, lazy_operation;
};
bool shake_as(const struct schedule *const *schedules, int ranks, const struct shaking *shaking,
              char *error, size_t size);

#endif
