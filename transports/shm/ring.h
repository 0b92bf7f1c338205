/*
 * ring.h - steps along the rings of a channel, whose cells are lines, slots or (ll.c) words. Posted
 * messages (channel.c) and eager ones (eager.c) share them.
 *
 * Heads and credits are read here alone, and checked: no other number than a rank would have
 * written leaves these functions.
 */
#ifndef CCTEST_TRANSPORTS_SHM_RING_H
#define CCTEST_TRANSPORTS_SHM_RING_H

#include "dataplane/transport/shared_memory.h"
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

/* What a receiver finds in the place of its next cell. */
enum shm_arrival { SHM_ABSENT, SHM_ARRIVED, SHM_GARBAGE };

/* *bytes: what an arrived cell holds, or refers to: whole elements. `expected`: most often that much;
 * it saves a division. A cell that has not arrived has the number of the round before. */
static inline enum shm_arrival shm_ring_look(const struct shm_ring *ring, size_t element,
                                             size_t expected, size_t *bytes,
                                             enum shm_cell_kind *kind)
{
    uint64_t head = atomic_load_explicit(&shm_ring_cell(ring)->head, memory_order_acquire);
    uint32_t number = (uint32_t)(head >> 32), next = (uint32_t)ring->position + 1;
    if (number != next)
        return number == (ring->position < ring->count ? 0 : next - ring->count) ? SHM_ABSENT
                                                                                 : SHM_GARBAGE;
    *bytes = (uint32_t)head >> 2;
    *kind = (enum shm_cell_kind)(head & 3);
    bool holds = *kind == SHM_BYTES && *bytes <= ring->payload;
    return (holds || *kind == SHM_REFERENCE) && *bytes > 0 &&
                   (*bytes == expected || (uint32_t)*bytes % (uint32_t)element == 0)
               ? SHM_ARRIVED
               : SHM_GARBAGE;
}

/* *credit: how many cells the receiver has returned in all. False: more than were sent, or fewer
 * than it had returned before. */
static inline bool shm_ring_credit(const struct shm_ring *ring, uint64_t *credit)
{
    *credit = atomic_load_explicit(ring->credit, memory_order_acquire);
    return *credit - ring->returned <= ring->position - ring->returned;
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
