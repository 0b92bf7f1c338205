/*
 * builder_memory.c - memory of a builder, and how a builder fails. The first failure is kept.
 */
#include "collective/schedule/internal.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/log.h"

void builder_fail_memory(struct builder *b)
{
    if (b->status == STATUS_OK)
        b->status = fail(STATUS_ERROR, "out of memory while writing a schedule");
}

bool array_reserve(struct builder *b, void **array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room ? 2 * *room : 64;
    more = more > count ? more : count + 1;
    void *grown = realloc(*array, more * size);
    if (!grown) {
        builder_fail_memory(b);
        return false;
    }
    *array = grown;
    *room = more;
    return true;
}

static void *builder_take_from(struct builder *b, struct arena *arena, size_t bytes)
{
    if (b->status != STATUS_OK)
        return NULL;
    void *taken = arena_take(arena, bytes);
    if (!taken)
        builder_fail_memory(b);
    return taken;
}

void *builder_draft(struct builder *b, size_t bytes)
{
    return builder_take_from(b, b->drafts, bytes);
}

void *builder_take(struct builder *b, size_t bytes)
{
    return builder_take_from(b, b->memory, bytes);
}

void builder_refuse(struct builder *b, const char *what)
{
    if (b->status == STATUS_OK)
        b->status =
            fail(STATUS_ERROR, "the schedule of rank %d for %s is malformed: operation %zu %s",
                 b->schedule->rank, b->schedule->problem.collective->name, b->count, what);
}

void builder_stop(struct builder *b, enum status status)
{
    if (b->status == STATUS_OK)
        b->status = status;
}
