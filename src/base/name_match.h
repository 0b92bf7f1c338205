/*
 * name_match.h - finding what a user meant.
 */
#ifndef CCTEST_BASE_NAME_MATCH_H
#define CCTEST_BASE_NAME_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Are they one name? Case is ignored, and '_' is '-'. */
bool name_equal(const char *name, const char *other);

/* The candidate nearest to `name` by edit distance; NULL if none is near (more than a third of the
 * letters differ). `candidates` ends with NULL. */
const char *name_nearest(const char *name, const char *const *candidates);

#endif
