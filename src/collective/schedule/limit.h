/*
 * limit.h - the limit rule: how far an operation may go, from its waits and the progress of others.
 *
 * The host's executor, the proofs and the step (dataplane/execute/step.h) share it. C11 and C++17.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_LIMIT_H
#define CCTEST_COLLECTIVE_SCHEDULE_LIMIT_H

#include "base/word.h"

/* A wait of operation L on the earlier operation E: L's elements [at, at + length) touch the same
 * memory as E's elements [past, past + length), in this order, and at least one of the two writes.
 * So L may touch its element at + i only when E has moved past its element past + i. */
struct wait {
    uint32_t operation; /* E: an index that is smaller than that of L */
    size_t at, past, length;
};

/* How far an operation of `length` may go, when each earlier operation e has moved past done[e],
 * which other threads may raise meanwhile. `length` and the waits are in elements; the result and
 * done[] are in units of 1/`unit` elements. The caller's own thread runs the
 * operations from `own` on, so their progress needs no ordered load. *first is the caller's cursor
 * into the waits: 0 at the start, then moved past waits that are satisfied for good. *waiting_for:
 * the operation that holds this one back (UINT32_MAX: none). */
HOST_DEVICE size_t limit_of_waits(size_t length, const struct wait *waits, size_t count,
                                  const size_t *done, size_t unit, uint32_t own, size_t *first,
                                  uint32_t *waiting_for)
{
    size_t limit = length * unit;
    *waiting_for = UINT32_MAX;
    for (size_t i = *first; i < count; i++) {
        const struct wait *wait = &waits[i];
        if (wait->at * unit >= limit)
            break; /* waits ascend: later ones do not matter yet */
        const size_t *word = &done[wait->operation];
        size_t past = wait->past * unit, passed = wait->operation < own ? word_load(word) : *word;
        if (passed >= past + wait->length * unit) {
            if (i == *first)
                *first = i + 1;
            continue;
        }
        size_t clear = wait->at * unit + (passed > past ? passed - past : 0);
        if (clear < limit || *waiting_for == UINT32_MAX) {
            limit = clear;
            *waiting_for = wait->operation;
        }
    }
    return limit;
}

#endif
