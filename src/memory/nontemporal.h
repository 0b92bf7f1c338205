/*
 * nontemporal.h - copying and combining into memory that nobody reads soon.
 *
 * An ordinary store brings the line that it overwrites into the cache first, which is a third of
 * the traffic of a copy, and puts out what may still be needed. The stores of these functions go
 * past the cache. Where the target is not in the cache, that is 1.3 to 1.8 times as fast, whether
 * the source is or not; where the target is in the cache, or is read next, it is half as fast or
 * worse (tests/bench/kernels.c measures both; here on a Zen 4).
 *
 * Both end with a fence: whoever sees a release store that the caller makes next sees the data, as
 * after ordinary stores.
 */
#ifndef CCTEST_MEMORY_NONTEMPORAL_H
#define CCTEST_MEMORY_NONTEMPORAL_H

#include <stddef.h>

#include "memory/datatype.h"

/* Copies `bytes` bytes, of any alignment and number. The two do not overlap. */
void nontemporal_copy(void *to, const void *from, size_t bytes);

/* What reduce(to, a, b, elements) does, on elements of `element` bytes: the same alignment and
 * aliasing are allowed. In place (`to` equal to `a` or `b`) the lines are in the cache by the time
 * that they are stored to, so there it is nothing but that call. */
void nontemporal_reduce(reduce_function *reduce, size_t element, void *to, const void *a,
                        const void *b, size_t elements);

#endif
