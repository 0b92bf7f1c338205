/*
 * memory_limits.h - how much memory this process can still get.
 */
#ifndef CCTEST_MEMORY_MEMORY_LIMITS_H
#define CCTEST_MEMORY_MEMORY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are left, less a reserve for other processes. */
struct memory_left {
    size_t machine; /* on the machine */
    size_t group;   /* in the control group of this process, or in the one above it that has the
                       least left; SIZE_MAX: no limit */
    uint64_t which; /* identifies that group on the machine; 0: none */
};
void memory_look(struct memory_left *left);

/* Bytes that this process can still get: the lesser of both. */
size_t memory_available(void);

/* The most bytes that the control groups of this process may take; SIZE_MAX: no limit. False:
 * unknown, because version 1 counts them or this system shows no groups. */
bool memory_group_limit(size_t *bytes);

#endif
