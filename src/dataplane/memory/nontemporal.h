/*
 * nontemporal.h - copies and reductions into memory that is not read soon.
 *
 * An ordinary store first brings the line that it overwrites into the cache. That is a third of the
 * traffic of a copy, and evicts data that may still be needed. These functions store past the
 * cache. If the target is not in the cache, that is 1.3 to 1.8 times as fast, whether the source is
 * or not. If the target is in the cache, or is read next, it is half as fast or worse (measured by
 * tests/bench/kernels.c on a Zen 4).
 *
 * Both end with a fence: a later release store of the caller publishes the data, as after ordinary
 * stores.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_NONTEMPORAL_H
#define CCTEST_DATAPLANE_MEMORY_NONTEMPORAL_H

#include <stddef.h>

#include "dataplane/memory/datatype.h"

/* Copies `bytes` bytes, of any alignment. The two ranges do not overlap. */
void nontemporal_copy(void *to, const void *from, size_t bytes);

/* As reduce(to, a, b, elements), on elements of `element` bytes, with the same alignment and
 * aliasing. In place (`to` equal to `a` or `b`) it is only that call, because the lines are in the
 * cache by the time they are stored. */
void nontemporal_reduce(reduce_function *reduce, size_t element, void *to, const void *a,
                        const void *b, size_t elements);

#endif
