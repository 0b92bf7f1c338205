/*
 * shm_ring.h - what posted (shm_channel.c) and eager messages (shm_eager.c) do alike with a
 * channel's rings.
 */
#ifndef CCTEST_SHM_RING_H
#define CCTEST_SHM_RING_H

#include "shm.h"

static inline uint64_t shm_head(uint64_t position, size_t length, enum shm_cell_kind kind)
{
    return position << 32 | (uint64_t)length << 2 | (uint64_t)kind;
}

static inline struct shm_cell *shm_ring_cell(const struct shm_ring *ring)
{
    return (struct shm_cell *)(void *)(ring->cells + ring->index * ring->stride);
}

static inline void shm_ring_next(struct shm_ring *ring)
{
    ring->position++;
    if (++ring->index == ring->count)
        ring->index = 0;
}

static inline enum shm_ring_kind shm_ring_of(const struct shm_channel *channel, size_t length)
{
    bool tiny = length <= sizeof(((struct shm_cell *)0)->data);
    if (tiny && channel->base.endpoint->config.copy == COPY_AUTO)
        return SHM_LINES;
    return length <= channel->rings[SHM_SHORT].payload ? SHM_SHORT : SHM_LONG;
}

/* Is there a free cell to be sent? */
bool shm_has_room(struct shm_channel *channel, enum shm_ring_kind kind);

/* Copies bytes into a slot. Between cores without a common cache they go through memory: fetching
 * each line out of the other's cache takes several times as long. */
void shm_gather(const struct shm_channel *channel, struct cursor *from, char *slot, size_t bytes);

#endif
