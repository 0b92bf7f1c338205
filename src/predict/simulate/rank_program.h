/*
 * rank_program.h - one rank's schedule without addresses: what a simulation needs of it.
 *
 * A simulation of many ranks holds the programs of all of them. Ranks whose programs differ only in
 * their peers share one (programs.h), so the peers stand apart.
 */
#ifndef CCTEST_PREDICT_SIMULATE_RANK_PROGRAM_H
#define CCTEST_PREDICT_SIMULATE_RANK_PROGRAM_H

#include "collective/schedule/schedule.h"

/* Lengths in elements, as in a schedule. */
struct program_operation {
    size_t length;
    size_t run;          /* of the shortest piece of memory of a message that is sent; else 0 */
    uint32_t first_wait; /* its waits are waits[first_wait] .. waits[next one's first_wait - 1] */
    uint32_t epoch;
    int32_t step;
    uint16_t lane;
    uint8_t kind;    /* enum operation_kind */
    uint8_t awaited; /* a later operation waits for it */
};

struct program_epoch {
    int32_t previous, next; /* -1: none */
    uint32_t operations, first_member;
};

struct rank_program {
    uint32_t count, wait_count, epoch_count;
    int32_t lanes;
    size_t elements; /* of all buffers */
    struct program_operation *operations; /* one more than `count`, for first_wait */
    struct wait *waits;
    struct program_epoch *epochs;
    uint32_t *members; /* of epochs, by first_member */
};

/* The program of a schedule, to be freed with free(); *peers: of each operation, -1 for local ones,
 * likewise. NULL: out of memory. */
struct rank_program *rank_program_of(const struct schedule *schedule, int32_t **peers);

/* Do they differ in nothing? Then ranks of both do the same but for their peers. */
bool rank_programs_equal(const struct rank_program *a, const struct rank_program *b);

#endif
