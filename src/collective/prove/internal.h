/*
 * internal.h - for the files of collective/prove/ alone.
 */
#ifndef CCTEST_COLLECTIVE_PROVE_INTERNAL_H
#define CCTEST_COLLECTIVE_PROVE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective/prove/prove.h"

/* ---- What an element holds, as a multiset of contributions.
 *
 * The verifier computes with symbols instead of numbers. A symbol is a number that stands for a
 * sorted list of contributions, each with its multiplicity. Equal lists have equal numbers, and
 * unions are cached, so that a whole allreduce of 33 ranks costs some thousand merges.
 * ---- */

/* Numbers 1 .. contributions are the single contributions; larger ones are made by symbol_union().
 */
#define SYMBOL_UNWRITTEN 0
#define SYMBOL_FAILED    UINT32_MAX /* out of memory */

struct term {
    uint32_t contribution; /* as the symbol that holds it alone */
    uint32_t times;        /* saturates */
};

struct symbols;

/* All memory is the arena's. `idempotent`: x with x is x. NULL: out of memory. */
struct symbols *symbols_create(struct arena *arena, uint32_t contributions, bool idempotent);

/* The symbol of an element that combines two. Neither may be SYMBOL_UNWRITTEN. */
uint32_t symbol_union(struct symbols *symbols, uint32_t a, uint32_t b);

/* The terms of a symbol in ascending order; valid until the next call on `symbols`. */
const struct term *symbol_terms(struct symbols *symbols, uint32_t symbol, size_t *count);

#endif
