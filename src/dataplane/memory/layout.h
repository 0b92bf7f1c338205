/*
 * layout.h - moves bytes between the pieces of a message (cursor.h) and contiguous memory.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_LAYOUT_H
#define CCTEST_DATAPLANE_MEMORY_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/memory/cursor.h"
#include "dataplane/memory/datatype.h"

/* Puts a piece, whose numbers come from another process, at `offset` of the `size` bytes at `base`.
 * False: it is empty, or not all of it lies there. */
bool piece_place(struct piece *piece, char *base, size_t size, uint64_t offset);

/* Copies `bytes` between the layout at the cursor and contiguous memory, and advances. */
void cursor_gather_runs(struct cursor *from, void *to, size_t bytes);
void cursor_scatter_runs(struct cursor *to, const void *from, size_t bytes);

/* Is that a whole run of 8 to 16 bytes, as in most short messages? */
static inline bool cursor_at_short_run(const struct cursor *cursor, size_t bytes)
{
    return bytes >= sizeof(uint64_t) && bytes <= 2 * sizeof(uint64_t) &&
           cursor->piece->run == bytes && cursor->piece->times == 1 && cursor->offset == 0;
}

/* Copies 8 to 16 bytes: to call a function takes longer. */
static inline void copy_short(char *to, const char *from, size_t bytes)
{
    uint64_t first, last;
    memcpy(&first, from, sizeof first);
    memcpy(&last, from + bytes - sizeof last, sizeof last);
    memcpy(to, &first, sizeof first);
    memcpy(to + bytes - sizeof last, &last, sizeof last);
}

/* The same, fast for short messages. */
static inline void cursor_gather(struct cursor *from, void *to, size_t bytes)
{
    if (cursor_at_short_run(from, bytes))
        copy_short(to, from->piece++->base, bytes);
    else
        cursor_gather_runs(from, to, bytes);
}

static inline void cursor_scatter(struct cursor *to, const void *from, size_t bytes)
{
    if (cursor_at_short_run(to, bytes) && !to->nontemporal)
        copy_short(to->piece++->base, from, bytes);
    else
        cursor_scatter_runs(to, from, bytes);
}

/* Copies `bytes` from layout to layout, except runs that lie in the same place, and advances. */
void cursor_copy(struct cursor *to, struct cursor *from, size_t bytes);

/* to = from (+) with, likewise. */
void cursor_reduce_both(struct cursor *to, struct cursor *from, struct cursor *with, size_t bytes,
                        reduce_function *reduce, size_t element);

/* to = finish(from), a result of `ranks` ranks; whole elements. */
void cursor_finish(struct cursor *to, struct cursor *from, size_t bytes, finish_function *finish,
                   size_t element, int ranks);

/* to = with (+) incoming, for `bytes` bytes (whole elements of `element` bytes); advances both. */
void cursor_reduce(struct cursor *to, struct cursor *with, const void *incoming, size_t bytes,
                   reduce_function *reduce, size_t element);

#endif
