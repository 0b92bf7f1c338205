/*
 * conflict.h - finds which operations of a schedule conflict, and exactly where.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_CONFLICT_H
#define CCTEST_COLLECTIVE_SCHEDULE_CONFLICT_H

#include "base/arena.h"
#include "base/status.h"
#include "collective/schedule/schedule.h"

/* Sets waits and wait_count of each operation; the memory is the arena's. Keeps only the waits that
 * others do not imply. For each element, a read waits for the last writer; a write waits for the
 * readers since the last write, or for that write if there are none. STATUS_ERROR: an operation
 * writes an element twice, or its target overlaps an input without being equal to it, or memory ran
 * out. Time is O(n log n) in the number of runs. */
enum status conflict_find(const struct schedule *schedule, struct operation *operations,
                          size_t count, struct arena *arena);

#endif
