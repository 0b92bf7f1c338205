/*
 * arena.c - memory that is taken piece by piece and given back at once.
 */
#include "base/arena.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

struct arena {
    struct block *blocks; /* the first one is being filled */
};

#define BLOCK_BYTES ((size_t)16 << 10)
#define BLOCK_MOST  ((size_t)1 << 20) /* what is left of the last block is wasted */

struct arena *arena_create(void)
{
    return new_array(1, sizeof(struct arena));
}

void *arena_take(struct arena *arena, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    struct block *block = arena->blocks;
    if (!block || block->size - block->used < bytes) {
        /* Blocks grow with what was taken, so that there are few of them. */
        size_t size = block ? 2 * block->size : BLOCK_BYTES;
        if (size > BLOCK_MOST)
            size = BLOCK_MOST;
        if (size < bytes)
            size = bytes;
        block = malloc(sizeof *block + size);
        if (!block)
            return NULL;
        block->next = arena->blocks;
        block->used = 0;
        block->size = size;
        arena->blocks = block;
    }
    void *taken = block->bytes + block->used;
    block->used += bytes;
    return taken;
}

void *arena_new(struct arena *arena, size_t count, size_t size)
{
    void *taken = arena_take(arena, count * size);
    if (!taken)
        memory_end();
    return memset(taken, 0, count * size);
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    while (arena->blocks) {
        struct block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    free(arena);
}
