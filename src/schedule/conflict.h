/*
 * conflict.h - finds which operations of a schedule conflict, and exactly where.
 */
#ifndef CCTEST_SCHEDULE_CONFLICT_H
#define CCTEST_SCHEDULE_CONFLICT_H

#include "base/arena.h"
#include "base/status.h"
#include "schedule/schedule.h"

/* Sets waits and wait_count of each operation; the memory is the arena's. Only what matters is
 * kept: per element the last writer before a read, and before a write the readers since the last
 * write (or that write, if there are none): all else follows, since each of these waited for its
 * own predecessors. Errors: an operation that writes an element twice, or whose target overlaps an
 * input without being equal to it (STATUS_ERROR); out of memory. Time is O(n log n) in the runs. */
enum status conflict_find(const struct schedule *schedule, struct operation *operations,
                          size_t count, struct arena *arena);

#endif
