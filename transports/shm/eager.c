/*
 * eager.c - short messages, each whole in one cell: one store, one load, no queue between.
 */
#include "transports/shm/internal.h"

#include "base/log.h"

size_t shm_eager_most(const struct channel *base)
{
    const struct shm_channel *channel = (const struct shm_channel *)base;
    switch (base->endpoint->config.copy) {
    case COPY_ZCOPY:
        return 0;
    case COPY_LL:
        return channel->rings[SHM_LL].payload;
    default:
        return channel->rings[SHM_SHORT].payload;
    }
}

static enum status shm_eager_send(struct shm_channel *channel, const struct transfer *transfer,
                                  bool *moved)
{
    enum shm_ring_kind kind = shm_ring_of(channel, transfer->length);
    struct shm_ring *ring = &channel->rings[kind];
    if (kind == SHM_LL)
        shm_ll_begin(ring, transfer->length, true);
    enum status status = shm_find_room(channel, kind, moved);
    if (!*moved || status) {
        profile_starve(transfer->profile);
        return status;
    }
    struct cursor from;
    cursor_start(&from, transfer->from);
    profile_enter(transfer->profile, PROFILE_COPY);
    if (kind == SHM_LL) {
        shm_ll_put(ring, &from, transfer->length, true);
    } else {
        struct shm_cell *cell = shm_ring_cell(ring);
        shm_gather(channel, &from, (char *)cell + ring->payload_at, transfer->length);
        if (ring->issues)
            ring->issues[ring->index].transfer = NULL;
        atomic_store_explicit(&cell->head,
                              shm_head(ring->position + 1, transfer->length, SHM_BYTES),
                              memory_order_release);
        shm_ring_next(ring);
    }
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    struct traffic *traffic = &channel->base.endpoint->traffic;
    traffic->sent[shm_ring_path(kind)] += transfer->length;
    traffic->copied_sending += transfer->length;
    return STATUS_OK;
}

static bool shm_eager_receive_ll(struct shm_channel *channel, const struct transfer *transfer)
{
    struct shm_ring *ring = &channel->rings[SHM_LL];
    struct traffic *traffic = &channel->base.endpoint->traffic;
    struct cursor to, with;
    shm_ll_begin(ring, transfer->length, false);
    if (!shm_ll_is_complete(ring, transfer->length))
        return false;
    cursor_start(&to, transfer->to);
    if (transfer->kind == TRANSFER_RECV_REDUCE)
        cursor_start(&with, transfer->with);
    profile_enter(transfer->profile, transfer_activity(transfer));
    traffic->copied_receiving += shm_ll_take(ring, transfer, &to, &with, transfer->length, true);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    traffic->received[PATH_LL] += transfer->length;
    return true;
}

/* The message comes in one cell, or in several from a sender that had to post it. */
static enum status shm_eager_receive(struct shm_channel *channel, const struct transfer *transfer,
                                     bool *moved)
{
    enum shm_ring_kind kind = shm_ring_of(channel, transfer->length);
    struct shm_ring *ring = &channel->rings[kind];
    if (kind == SHM_LL) {
        *moved = shm_eager_receive_ll(channel, transfer);
        return STATUS_OK;
    }
    for (*moved = false; !*moved;) {
        size_t bytes;
        enum shm_cell_kind cell_kind;
        enum shm_arrival arrival =
            shm_ring_look(ring, transfer->element, transfer->length, &bytes, &cell_kind);
        if (arrival == SHM_ABSENT)
            return STATUS_OK;
        if (arrival == SHM_GARBAGE || cell_kind != SHM_BYTES)
            return fail_garbage(channel->base.peer, "the head of a cell");
        if (bytes > transfer->length - channel->arrived)
            return fail_peer(REASON_PEER_INVALID, channel->base.peer,
                             "rank %d sent a longer message than this rank expects",
                             channel->base.peer);
        profile_enter(transfer->profile, transfer_activity(transfer));
        transfer_place(transfer, channel->arrived, (char *)shm_ring_cell(ring) + ring->payload_at,
                       bytes);
        profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
        shm_ring_next(ring);
        shm_ring_return(ring);
        channel->arrived += bytes;
        *moved = channel->arrived == transfer->length;
    }
    channel->arrived = 0;
    channel->base.endpoint->traffic.received[shm_ring_path(kind)] += transfer->length;
    return STATUS_OK;
}

enum status shm_eager_move(struct channel *base, const struct transfer *transfer, bool *moved)
{
    struct shm_channel *channel = (struct shm_channel *)base;
    if (!base->sends)
        return shm_eager_receive(channel, transfer, moved);
    return shm_eager_send(channel, transfer, moved);
}
