/*
 * symbol.h - symbols for data: what an element holds, as a multiset of contributions.
 *
 * The verifier computes with these instead of numbers. A value is a number that stands for a sorted
 * list of contributions with how often each is in it; equal lists have equal numbers, and a union
 * that was asked for before is remembered, so that a whole allreduce of 33 ranks costs some
 * thousand merges.
 */
#ifndef CCTEST_PROVE_SYMBOL_H
#define CCTEST_PROVE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Numbers 1 .. contributions are the single contributions; larger ones are made by symbol_union().
 */
#define SYMBOL_UNWRITTEN 0
#define SYMBOL_FAILED    UINT32_MAX /* out of memory */

struct entry {
    uint32_t contribution; /* as the value that holds it alone */
    uint32_t times;        /* stays at its largest number rather than wrap */
};

struct symbols;

/* All memory is the arena's. `idempotent`: x with x is x. NULL: out of memory. */
struct symbols *symbols_create(struct arena *arena, uint32_t contributions, bool idempotent);

/* What an element holds after combining two. Neither may be SYMBOL_UNWRITTEN. */
uint32_t symbol_union(struct symbols *values, uint32_t a, uint32_t b);

/* The entries of a value in ascending order; valid until the next call on `values`. */
const struct entry *symbol_entries(struct symbols *values, uint32_t value, size_t *count);

#endif
