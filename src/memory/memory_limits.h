/*
 * memory_limits.h - how much memory this process can still get.
 */
#ifndef CCTEST_MEMORY_MEMORY_LIMITS_H
#define CCTEST_MEMORY_MEMORY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are left, but for a reserve for others, */
struct memory_left {
    size_t machine; /* by the machine to all of its processes, */
    size_t group;   /* and, to its processes, by the control group of this one, or the one above it,
                       that has the least; SIZE_MAX: they have no limit */
    uint64_t which; /* that group: a number that no other on the machine has; 0: none */
};
void memory_look(struct memory_left *left);
/* Bytes that this process can still have: the less of both. */
size_t memory_available(void);

/* Bytes that the control groups of this process may take at most; SIZE_MAX: they have no limit.
 * False: nobody knows, as version 1 counts them, or this system tells of no groups. */
bool memory_group_limit(size_t *bytes);

#endif
