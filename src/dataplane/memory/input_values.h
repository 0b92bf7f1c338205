/*
 * input_values.h - from hashed words to the values of one rank, for each type.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_INPUT_VALUES_H
#define CCTEST_DATAPLANE_MEMORY_INPUT_VALUES_H

#include "dataplane/memory/datatype.h"
#include "dataplane/memory/input_element.h"

#define VALUES_MOST 256u /* elements made at a time: all that they need stays in the first cache */

/* `reduction` NULL: values are only moved. */
struct recipe recipe_of(const struct datatype *type, const struct reduction *reduction, int ranks);

/* What one rank's values are made of. */
struct material {
    struct input_rule by;
    size_t count;
    uint32_t rank;
    const uint32_t *deciders; /* of each element; unless the rule has none */
    const uint32_t *shared;   /* words that all ranks share; unless the rule has none */
    uint32_t words[VALUES_MOST];
};

/* Writes m->count elements. */
void values_make(const struct datatype *type, const struct material *m, void *to);

#endif
