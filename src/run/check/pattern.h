/*
 * pattern.h - the results that must come of the inputs, by contract.
 */
#ifndef CCTEST_RUN_CHECK_PATTERN_H
#define CCTEST_RUN_CHECK_PATTERN_H

#include "collective/collective.h"
#include "dataplane/memory/inputs.h"

struct pattern {
    struct problem problem;
    struct inputs inputs; /* of as many ranks; reduction: NULL unless the collective reduces */
};

/* What destination element `at` of `rank` must be; false if the destination ends before it. */
bool pattern_expectation(const struct pattern *pattern, int rank, size_t at,
                         struct expectation *expectation);

/* Destination elements [first, first + count) of `rank`, as the contract has them. */
void pattern_expect(const struct pattern *pattern, int rank, size_t first, size_t count, void *to);

/* What stands in destinations, scratch and canaries before a run: bytes that no input has often. */
#define PATTERN_POISON 0xD5

/* Bytes of the longest element as text: a pair of a double and its index. */
#define PATTERN_TEXT_MOST 56

/* One element as people read it: "1.5", "-3", "poison (0xd5d5d5d5)". */
void pattern_format(const struct datatype *type, const void *value, char *text, size_t size);

#endif
