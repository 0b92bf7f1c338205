/*
 * builder_memory.h - memory of a builder, and how a builder fails.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_BUILDER_MEMORY_H
#define CCTEST_COLLECTIVE_SCHEDULE_BUILDER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct builder;

/* Memory that lives until the schedule is finished. NULL when the builder has failed, or fails
 * now. */
void *builder_draft(struct builder *b, size_t bytes);
/* Likewise memory that lives as long as the schedule. */
void *builder_take(struct builder *b, size_t bytes);

/* Makes room for element `count` of an array that grows by doubling; `room`: elements allocated,
 * `size`: bytes of one. Returns false, and fails the builder, when memory runs out. */
bool array_reserve(struct builder *b, void **array, size_t *room, size_t count, size_t size);

/* Fails the builder for lack of memory. */
void builder_fail_memory(struct builder *b);
/* Fails the builder with a failure that fail() has recorded. */
void builder_stop(struct builder *b, enum status status);
/* Fails the builder because the operation at hand is malformed; `what` follows "operation N". */
void builder_refuse(struct builder *b, const char *what);

#endif
