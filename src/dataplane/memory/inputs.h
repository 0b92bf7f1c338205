/*
 * inputs.h - the values that ranks begin with, and their combinations.
 *
 * Inputs are a hash of (seed, iteration, rank, element), drawn so that every order of reduction
 * gives bit-identical results, and so that a contribution that is missing, doubled or stale changes
 * the result (design notes in inputs.c, per type and operator).
 */
#ifndef CCTEST_DATAPLANE_MEMORY_INPUTS_H
#define CCTEST_DATAPLANE_MEMORY_INPUTS_H

#include <stdint.h>

#include "dataplane/memory/datatype.h"

struct input_rule;

struct inputs {
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: the values are only moved */
    int ranks;                         /* that contribute to a combination */
    uint64_t seed;
    uint64_t iteration;
};

/* Writes source elements [first, first + count) of `rank`. */
void inputs_make(const struct inputs *inputs, int rank, size_t first, size_t count, void *to);

/* How one rank's contribution enters a combination: once if the run was right. */
enum contribution {
    CONTRIBUTION_ONCE,
    CONTRIBUTION_MISSING,
    CONTRIBUTION_DOUBLED,
    CONTRIBUTION_STALE
};

/* The combination of all ranks' source elements [first, first + count), each entering as
 * `how[rank]` says (NULL: all once; stale: with its value of the iteration before; before iteration
 * 0 there is a 2^64-1 that was never run). Returns false where nothing enters at all. Inputs that
 * are only moved have none. */
bool inputs_combine(const struct inputs *inputs, const unsigned char *how, size_t first,
                    size_t count, void *to);

/* Elements [first, first + count) of the source of `rank`, or, if that is negative, the
 * combination of all ranks' elements. */
void inputs_expect(const struct inputs *inputs, int rank, size_t first, size_t count, void *to);

/* How their elements are made, for those who include input_element.h. */
struct input_rule inputs_rule(const struct inputs *inputs);

/* Bits that a wrong element says about its cause, roughly and at least. */
double inputs_bits(const struct inputs *inputs);

#endif
