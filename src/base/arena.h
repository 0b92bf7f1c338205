/*
 * arena.h - memory that is taken piece by piece and given back at once.
 */
#ifndef CCTEST_BASE_ARENA_H
#define CCTEST_BASE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_create(void);
void *arena_take(struct arena *arena, size_t bytes); /* aligned to 16; NULL: out of memory */

/* `count` elements that are zero, by the rule of list.h: it does not fail. */
void *arena_new(struct arena *arena, size_t count, size_t size);

void arena_free(struct arena *arena); /* with all that was taken; NULL is allowed */

#endif
