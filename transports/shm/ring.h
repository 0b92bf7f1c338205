/*
 * ring.h - steps along the rings of a channel, whose cells are lines, slots or (ll.c) words. Posted
 * messages (channel.c) and eager ones (eager.c) share them.
 */
#ifndef CCTEST_TRANSPORTS_SHM_RING_H
#define CCTEST_TRANSPORTS_SHM_RING_H

#include "transports/shm/shm.h"

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

/* The receiver has finished the cell before: returns it to the sender. */
static inline void shm_ring_return(struct shm_ring *ring)
{
    atomic_store_explicit(ring->credit, ring->position, memory_order_release);
}

/* `bytes`, but at most `most`; if it has to cut, it cuts at whole elements. */
static inline size_t shm_cut(size_t bytes, size_t most, size_t element)
{
    return bytes <= most ? bytes : most - most % element;
}

/* The path of bytes that go in the cells of this ring. */
static inline enum path shm_ring_path(enum shm_ring_kind kind)
{
    return kind == SHM_LINES ? PATH_LINE : kind == SHM_LL ? PATH_LL : PATH_BCOPY;
}

static inline enum shm_ring_kind shm_ring_of(const struct shm_channel *channel, size_t length)
{
    bool tiny = length <= sizeof(((struct shm_cell *)0)->data);
    enum copy_policy copy = channel->base.endpoint->config.copy;
    if (copy == COPY_LL)
        return SHM_LL;
    if (tiny && copy == COPY_AUTO)
        return SHM_LINES;
    return length <= channel->rings[SHM_SHORT].payload ? SHM_SHORT : SHM_LONG;
}

#endif
