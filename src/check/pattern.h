/*
 * pattern.h - the inputs, and from them the results that must come.
 *
 * Inputs are a hash of (seed, iteration, rank, element), drawn so that every order of reduction
 * gives bit-identical results, and so that a contribution that is missing, doubled or stale changes
 * the result (design notes in pattern.c, per type and operator).
 */
#ifndef CCTEST_CHECK_PATTERN_H
#define CCTEST_CHECK_PATTERN_H

#include "base/tick.h"
#include "collective/collective.h"
#include "memory/datatype.h"

struct pattern {
    struct problem problem;
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL unless the collective reduces */
    uint64_t seed;
    uint64_t iteration;
    const struct tick *tick; /* called while a result is compared; NULL is allowed */
};

/* Writes source elements [first, first + count) of `rank`. */
void pattern_fill(const struct pattern *pattern, int rank, size_t first, size_t count, void *to);

/* How one rank's contribution enters an expected value: once if the run was right. */
enum contribution {
    CONTRIBUTION_ONCE,
    CONTRIBUTION_MISSING,
    CONTRIBUTION_DOUBLED,
    CONTRIBUTION_STALE
};

/* The combination of all ranks' source elements [first, first + count), each entering as
 * `how[rank]` says (NULL: all once; stale: with its value of the iteration before; before iteration
 * 0 there is a 2^64-1 that was never run). Returns false where nothing enters at all. Non-reducing
 * collectives do not use it. */
bool pattern_combine(const struct pattern *pattern, const unsigned char *how, size_t first,
                     size_t count, void *to);

/* Destination elements [first, first + count) of `rank`, as the contract has them. */
void pattern_expect(const struct pattern *pattern, int rank, size_t first, size_t count, void *to);

/* What destination element `at` of `rank` must be; false if the destination ends before it. */
bool pattern_expectation(const struct pattern *pattern, int rank, size_t at,
                         struct expectation *expectation);

/* Bits that a wrong element says about its cause, roughly and at least. */
double pattern_bits(const struct pattern *pattern);

/* What stands in destinations, scratch and canaries before a run: bytes that no input has often. */
#define PATTERN_POISON 0xD5

/* Bytes of the longest element as text: a pair of a double and its index. */
#define PATTERN_TEXT_MOST 56

/* One element as people read it: "1.5", "-3", "poison (0xd5d5d5d5)". */
void pattern_format(const struct datatype *type, const void *value, char *text, size_t size);

#endif
