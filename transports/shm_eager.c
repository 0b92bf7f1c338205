/*
 * shm_eager.c - short messages, each whole in one cell: a store and a load with nothing between.
 */
#include "log.h"
#include "shm_ring.h"

size_t shm_eager_most(const struct channel *base)
{
    const struct shm_channel *channel = (const struct shm_channel *)base;
    return base->endpoint->config.copy == COPY_ZCOPY ? 0 : channel->rings[SHM_SHORT].payload;
}

static bool shm_eager_send(struct shm_channel *channel, const struct transfer *transfer)
{
    enum shm_ring_kind kind = shm_ring_of(channel, transfer->length);
    struct shm_ring *ring = &channel->rings[kind];
    if (!shm_has_room(channel, kind)) {
        profile_starve(transfer->profile);
        return false;
    }
    struct shm_cell *cell = shm_ring_cell(ring);
    struct cursor from;
    cursor_start(&from, transfer->from);
    profile_enter(transfer->profile, PROFILE_COPY);
    shm_gather(channel, &from, (char *)cell + ring->payload_at, transfer->length);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    if (ring->issues)
        ring->issues[ring->index].transfer = NULL;
    atomic_store_explicit(&cell->head, shm_head(ring->position + 1, transfer->length, SHM_BYTES),
                          memory_order_release);
    shm_ring_next(ring);
    struct traffic *traffic = &channel->base.endpoint->traffic;
    traffic->sent[kind == SHM_LINES ? PATH_LINE : PATH_BCOPY] += transfer->length;
    traffic->copied_sending += transfer->length;
    return true;
}

/* The message comes in one cell, but from a sender that had to post it perhaps in several. */
static enum status shm_eager_receive(struct shm_channel *channel, const struct transfer *transfer,
                                     bool *moved)
{
    enum shm_ring_kind kind = shm_ring_of(channel, transfer->length);
    struct shm_ring *ring = &channel->rings[kind];
    for (*moved = false; !*moved;) {
        struct shm_cell *cell = shm_ring_cell(ring);
        uint64_t head = atomic_load_explicit(&cell->head, memory_order_acquire);
        if (head >> 32 != (uint32_t)(ring->position + 1))
            return STATUS_OK;
        size_t bytes = (uint32_t)head >> 2;
        if ((head & 3) != SHM_BYTES || bytes > transfer->length - channel->came)
            return fail(STATUS_ERROR, "rank %d sent a longer message than this rank expects",
                        channel->base.peer);
        profile_enter(transfer->profile, transfer_activity(transfer));
        transfer_place(transfer, channel->came, (char *)cell + ring->payload_at, bytes);
        profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
        shm_ring_next(ring);
        atomic_store_explicit(ring->credit, ring->position, memory_order_release);
        channel->came += bytes;
        *moved = channel->came == transfer->length;
    }
    channel->came = 0;
    channel->base.endpoint->traffic.received[kind == SHM_LINES ? PATH_LINE : PATH_BCOPY] +=
        transfer->length;
    return STATUS_OK;
}

enum status shm_eager_move(struct channel *base, const struct transfer *transfer, bool *moved)
{
    struct shm_channel *channel = (struct shm_channel *)base;
    if (!base->sends)
        return shm_eager_receive(channel, transfer, moved);
    *moved = shm_eager_send(channel, transfer);
    return STATUS_OK;
}
