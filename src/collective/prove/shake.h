/*
 * shake.h - runs the schedules of all ranks byte by byte in random order, to find missing
 * conflicts.
 */
#ifndef CCTEST_COLLECTIVE_PROVE_SHAKE_H
#define CCTEST_COLLECTIVE_PROVE_SHAKE_H

#include "collective/schedule/schedule.h"

/* Serves ready operations in random order and random pieces, through slots of random size and
 * number, one byte an element, and compares every rank's destination with the result of program
 * order. Combining does not commute here, so a wrong order of reductions shows, too. Returns false
 * with the difference, or the deadlock, in `error`. */
bool shake(const struct schedule *const *schedules, int ranks, uint64_t seed, char *error,
           size_t size);

/* What shake() draws from its seed, for a caller that needs one particular run. */
struct shaking {
    uint64_t seed;            /* of the inputs and of all random choices */
    size_t slots, slot_bytes; /* of every lane from one rank to another; at least 1 */
    size_t most;              /* bytes that one operation moves at a time; at least 1 */
    /* Lazy operations are served only when no other can move, so that all others overtake them as
     * far as the waits allow. Lazy are one operation in `lazy_share` (0: none), and operation
     * `lazy_operation` of rank `lazy_rank` (-1: all of its operations; lazy_rank -1: none). */
    unsigned lazy_share;
    int lazy_rank, lazy_operation;
};
bool shake_as(const struct schedule *const *schedules, int ranks, const struct shaking *shaking,
              char *error, size_t size);

#endif
