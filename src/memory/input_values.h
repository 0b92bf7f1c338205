/*
 * input_values.h - from hashed words to the values of one rank, for each type. What the values
 * are for, and what they must be like, is said in inputs.c.
 */
#ifndef CCTEST_MEMORY_INPUT_VALUES_H
#define CCTEST_MEMORY_INPUT_VALUES_H

#include <stdint.h>

#include "memory/datatype.h"

#define VALUES_MOST 512u /* elements made at a time: all that they need stays in the first cache */

enum rule {
    RULE_RAW,      /* all bits random */
    RULE_SUM,      /* floats: integers of all ranks */
    RULE_SUM_FEW,  /* floats: integers of the ranks in the window */
    RULE_PRODUCT,  /* integers: odd; floats: signs, and powers of two of the ranks in the window */
    RULE_EXTREME,  /* the decider is beyond all others */
    RULE_BITS,     /* the decider has random bits, all others have none that count */
    RULE_TRUTH,    /* the decider's coin says whether it differs from all others */
    RULE_PARITY,   /* 0 or 1 */
    RULE_LOCATION, /* the decider and the rank behind it are beyond all others, and equal */
};

/* What follows from the type, the operator and the number of ranks. */
struct recipe {
    uint32_t window;         /* how many ranks, from the decider on, have what only few may have */
    uint32_t magnitude_bits; /* RULE_SUM of floats: magnitudes are 1 .. 2^this */
    uint32_t exponent_most;  /* RULE_PRODUCT of floats */
    float scale;             /* RULE_SUM of floats: what the integers are multiplied by */
    bool decider_top;        /* the decider has the top bit (or sign) set, else all others have */
    bool inverted; /* RULE_BITS: bits that are 0 count (band); RULE_TRUTH: false counts (land) */
};

/* `reduction` NULL: values are only moved. */
struct recipe recipe_of(const struct datatype *type, const struct reduction *reduction, int ranks);

/* What one rank's values are made of. */
struct material {
    enum rule rule;
    struct recipe recipe;
    size_t count;
    uint32_t rank, ranks;
    const uint32_t *deciders; /* of each element; unless the rule has none */
    const uint32_t *shared;   /* words that are the same for all ranks; RULE_TRUTH: bit 0 */
    uint32_t words[VALUES_MOST];
};

/* Writes m->count elements. */
void values_make(const struct datatype *type, const struct material *m, void *to);

#endif
