/*
 * memory_limits.h - how much memory this process can still get.
 */
#ifndef CCTEST_MEMORY_MEMORY_LIMITS_H
#define CCTEST_MEMORY_MEMORY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Something that memory is taken from: a machine, a control group, a device. */
struct memory_pool {
    uint64_t which; /* identifies it among the pools of all ranks of a host; 0: there is none */
    size_t left;    /* bytes; SIZE_MAX: no limit */
    bool is_exact;  /* no more than that can be had; else `left` is an estimate */
    char where[48]; /* for sentences: "this machine", "GPU 0 (0000:3b:00.0)" */
};
#define MEMORY_POOLS 2 /* that a rank takes from, at most */

/* The machine, and the control group of this process, or the one above it that has the least left.
 * Both are given with a reserve for other processes taken off. */
void memory_look(struct memory_pool pools[MEMORY_POOLS]);

/* Bytes that this process can still get: the lesser of both. */
size_t memory_available(void);

/* The most bytes that the control groups of this process may take; SIZE_MAX: no limit. False:
 * unknown, because version 1 counts them or this system shows no groups. */
bool memory_group_limit(size_t *bytes);

#endif
