/*
 * memory_limits.h - how much memory this process can still get.
 */
#ifndef CCTEST_HOST_MEMORY_LIMITS_H
#define CCTEST_HOST_MEMORY_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_WHERE_MOST 256 /* bytes of a pool's name, with its 0 */

/* Something that memory is taken from: a machine, a control group, a device. */
struct memory_pool {
    uint64_t which; /* identifies it among the pools of all ranks of a host; 0: there is none */
    size_t left;    /* bytes; SIZE_MAX: no limit */
    bool is_exact;  /* no more than that can be had; else `left` is an estimate */
    char where[MEMORY_WHERE_MOST]; /* for sentences: "this machine", "GPU 0 (0000:3b:00.0)" */
    const char *limit_file;        /* of a control group, static: what sets its limit; else NULL */
};
#define MEMORY_POOLS 2 /* that a rank takes from, at most */

/* The machine, and the control group of this process, or the one above it that has the least left.
 * Of the machine a reserve for other processes is taken off. A group has none: its limit is there to
 * be used. */
void memory_look(struct memory_pool pools[MEMORY_POOLS]);

/* Of these pools, the one that has less left. */
const struct memory_pool *memory_scarcer(const struct memory_pool pools[MEMORY_POOLS]);

/* Bytes that this process can still get: the lesser of both. */
size_t memory_available(void);

/* The most bytes that the control groups of this process may take; SIZE_MAX: no limit. False:
 * unknown, because version 1 counts them or this system shows no groups. */
bool memory_group_limit(size_t *bytes);

#endif
