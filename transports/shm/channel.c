/*
 * channel.c - the data path of shared memory: cells are filled, taken and returned.
 *
 * There is no lock, no allocation, and no system call other than process_vm_readv. The length of a
 * message and the --copy policy select its ring, alike on both sides. The kind of each cell says
 * whether it holds bytes or a reference to them:
 *
 *     line    up to 56 bytes, under auto: flag and data in one cache line
 *     bcopy   bytes in slots
 *     ll      words that each carry their own flag (ll.c)
 *     zcopy   a slot refers to bytes in the sender's memory. The receiver reads them there and puts
 *             them in place. The return of the slot tells the sender that they are done.
 *
 * No side waits until a cell is full: it sends or takes what the limit allows. A cell holds bytes
 * of one message.
 */
#include "transports/shm/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/log.h"
#include "dataplane/memory/memory.h"

#define NONTEMPORAL_LEAST ((size_t)2 << 10) /* shorter copies to a far peer go by the cache, too */

/* Bytes moved for one channel before the others have their turn, and bytes of one reference. */
#define TURN_LEAST     ((size_t)4 << 10)
#define TURN_MOST      ((size_t)256 << 10)
#define REFERENCE_MOST ((size_t)4 << 20)
#define REST_MOST      ((size_t)8 << 10) /* goes along with the last call */

#define VECTOR_MOST 64 /* runs that one process_vm_readv reads */

/* Bytes that the channel may copy before the others have their turn. */
static size_t shm_budget(const struct shm_channel *channel)
{
    const struct transfer *first = channel->base.first;
    return first ? transfer_turn(first, TURN_LEAST, TURN_MOST) : 0;
}

/* How many of the next `bytes` one reference covers, and one call reads. */
static size_t shm_piece(const struct transfer *transfer, size_t bytes)
{
    size_t turn = transfer_turn(transfer, TURN_LEAST, REFERENCE_MOST);
    return bytes <= turn + REST_MOST ? bytes : shm_cut(bytes, turn, transfer->element);
}

/* Counts the cells that the receiver has returned. */
static enum status shm_collect(struct shm_channel *channel, enum shm_ring_kind kind)
{
    struct shm_ring *ring = &channel->rings[kind];
    uint64_t credit;
    if (!shm_ring_credit(ring, &credit))
        return fail_garbage(channel->base.peer, "a credit");
    if (!ring->issues) {
        ring->returned = credit;
        return STATUS_OK;
    }
    for (; ring->returned < credit; ring->returned++) {
        struct shm_issue *issue = &ring->issues[ring->oldest];
        if (issue->transfer) {
            transfer_advance(issue->transfer, issue->bytes);
            channel->outstanding--;
        }
        if (++ring->oldest == ring->count)
            ring->oldest = 0;
    }
    return STATUS_OK;
}

enum status shm_find_room(struct shm_channel *channel, enum shm_ring_kind kind, bool *room)
{
    struct shm_ring *ring = &channel->rings[kind];
    enum status status = STATUS_OK;
    if (ring->position - ring->returned == ring->count)
        status = shm_collect(channel, kind);
    *room = ring->position - ring->returned < ring->count;
    return status;
}

void shm_gather(const struct shm_channel *channel, struct cursor *from, char *slot, size_t bytes)
{
    if (!shm_is_far(channel->peer->distance) || bytes < NONTEMPORAL_LEAST) {
        cursor_gather(from, slot, bytes);
        return;
    }
    for (size_t run; bytes > 0; bytes -= run) {
        const char *here = cursor_peek(from, bytes, &run);
        nontemporal_copy(slot, here, run);
        cursor_advance(from, run);
        slot += run;
    }
}

/* Sends the next bytes of `transfer` as words. Returns how many: 0 if the limit cuts a word. */
static size_t shm_fill_ll(struct shm_ring *ring, struct transfer *transfer)
{
    size_t left = transfer->length - transfer->issued;
    size_t bytes = shm_ll_room(ring, left, transfer->limit - transfer->issued);
    bytes -= bytes % transfer->element;
    if (bytes == 0)
        return 0;
    profile_enter(transfer->profile, PROFILE_COPY);
    shm_ll_put(ring, &transfer->cursor, bytes, bytes == left);
    transfer->issued += bytes;
    transfer_advance(transfer, bytes);
    return bytes;
}

/* Fills a free cell with the next bytes of `transfer` or a reference to them, and publishes it.
 * Returns how many bytes. */
static size_t shm_fill(struct shm_channel *channel, enum shm_ring_kind ring_kind,
                       struct transfer *transfer, enum path *path)
{
    struct shm_ring *ring = &channel->rings[ring_kind];
    *path = shm_ring_path(ring_kind);
    if (ring_kind == SHM_LL)
        return shm_fill_ll(ring, transfer);
    struct shm_cell *cell = shm_ring_cell(ring);
    struct shm_reference reference;
    size_t most = shm_piece(transfer, transfer->limit - transfer->issued);
    size_t bytes = shm_refer(channel, transfer, most, &reference);
    enum shm_cell_kind kind = bytes > 0 ? SHM_REFERENCE : SHM_BYTES;
    if (kind == SHM_REFERENCE) {
        *path = PATH_ZCOPY;
        memcpy(cell->data, &reference, sizeof(reference));
        cursor_advance(&transfer->cursor, bytes);
    } else {
        bytes = shm_cut(transfer->limit - transfer->issued, ring->payload, transfer->element);
        profile_enter(transfer->profile, PROFILE_COPY);
        shm_gather(channel, &transfer->cursor, (char *)cell + ring->payload_at, bytes);
    }
    /* Copied bytes are done at once, unless bytes before them are outstanding. */
    bool outstanding = kind == SHM_REFERENCE || transfer->done < transfer->issued;
    if (ring->issues) {
        ring->issues[ring->index] =
            (struct shm_issue){.transfer = outstanding ? transfer : NULL, .bytes = bytes};
        channel->outstanding += outstanding;
    }
    atomic_store_explicit(&cell->head, shm_head(ring->position + 1, bytes, kind),
                          memory_order_release);
    shm_ring_next(ring);
    transfer->issued += bytes;
    if (!outstanding)
        transfer_advance(transfer, bytes);
    return bytes;
}

static enum status shm_send(struct shm_channel *channel)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)channel->base.endpoint;
    size_t budget = shm_budget(channel);
    enum status status = STATUS_OK;
    for (int kind = SHM_SHORT; kind < SHM_RINGS && channel->outstanding > 0 && !status; kind++)
        status = shm_collect(channel, (enum shm_ring_kind)kind);
    for (struct transfer *transfer; !status && budget > 0 && (transfer = channel->base.first) &&
                                    transfer->issued < transfer->limit;) {
        enum shm_ring_kind kind = shm_ring_of(channel, transfer->length);
        if (kind == SHM_LL && transfer->issued == 0)
            shm_ll_begin(&channel->rings[kind], transfer->length, true);
        bool room;
        status = shm_find_room(channel, kind, &room);
        if (!room || status) {
            profile_starve(transfer->profile);
            break;
        }
        enum path path;
        size_t bytes = shm_fill(channel, kind, transfer, &path);
        if (bytes == 0)
            break;
        endpoint->base.traffic.sent[path] += bytes;
        /* All of it is issued: the next transfer may begin. */
        if (transfer->issued == transfer->length)
            channel_pop(&channel->base);
        if (path == PATH_ZCOPY)
            continue;
        if (path == PATH_BCOPY && endpoint->base.config.copy == COPY_ZCOPY)
            return fail_peer(
                REASON_PEER_UNREACHABLE, channel->base.peer,
                "rank %d cannot read this rank's private memory (process_vm_readv), which "
                "--copy zcopy needs; use --memory shared, or --copy auto",
                channel->base.peer);
        endpoint->base.traffic.copied_sending += bytes;
        budget -= bytes < budget ? bytes : budget;
    }
    return status;
}

/* The next cell refers to `bytes` bytes of the sender's memory. */
static enum status shm_open_reference(struct shm_channel *channel, const struct shm_cell *cell,
                                      size_t bytes, size_t element)
{
    struct shm_reference reference;
    shared_snapshot(&reference, cell->data, sizeof(reference));
    if (!shm_refers(channel->base.endpoint->config.copy) || reference.run % element ||
        !shm_peer_find(channel->peer, &reference, &channel->piece, &channel->remote) ||
        bytes % reference.run || bytes / reference.run != reference.times)
        return fail_garbage(channel->base.peer, "a reference");
    channel->bytes = NULL;
    channel->left = bytes;
    cursor_start(&channel->source, (struct layout){.pieces = &channel->piece, .count = 1});
    return STATUS_OK;
}

/* Looks for the next cell. Sets channel->left to its bytes; 0: it has not arrived. */
static enum status shm_open_cell(struct shm_channel *channel, const struct shm_ring *ring,
                                 size_t element)
{
    size_t bytes;
    enum shm_cell_kind kind;
    enum shm_arrival arrival = shm_ring_look(ring, element, 0, &bytes, &kind);
    if (arrival == SHM_ABSENT)
        return STATUS_OK;
    if (arrival == SHM_GARBAGE)
        return fail_garbage(channel->base.peer, "the head of a cell");
    struct shm_cell *cell = shm_ring_cell(ring);
    if (kind == SHM_REFERENCE)
        return shm_open_reference(channel, cell, bytes, element);
    channel->bytes = (char *)cell + ring->payload_at;
    channel->left = bytes;
    return STATUS_OK;
}

/* The same for words; more of them may arrive later. */
static void shm_open_ll(struct shm_channel *channel, struct shm_ring *ring,
                        const struct transfer *transfer)
{
    if (transfer->issued == 0)
        shm_ll_begin(ring, transfer->length, false);
    size_t arrived = shm_ll_arrived(ring, transfer->length - transfer->issued);
    channel->left = arrived - arrived % transfer->element;
    channel->bytes = (char *)shm_ring_cell(ring);
}

static void shm_place(struct transfer *transfer, const char *bytes, size_t count)
{
    if (transfer->kind == TRANSFER_RECV)
        cursor_scatter(&transfer->cursor, bytes, count);
    else
        cursor_reduce(&transfer->cursor, &transfer->with_cursor, bytes, count, transfer->reduce,
                      transfer->element);
}

static int shm_vector(struct cursor cursor, size_t bytes, struct iovec vector[VECTOR_MOST])
{
    int count = 0;
    for (size_t run; bytes > 0 && count < VECTOR_MOST; bytes -= run) {
        vector[count].iov_base = cursor_peek(&cursor, bytes, &run);
        vector[count++].iov_len = run;
        cursor_advance(&cursor, run);
    }
    return count;
}

/* Where the next byte lies. */
static char *shm_next(struct cursor cursor)
{
    size_t run;
    return cursor_peek(&cursor, 1, &run);
}

/* Where private memory lands that is to be combined or copied on. It lies in its line as the source
 * does, by the first run: then the kernel copies whole lines, and never slowly
 * (dataplane/memory/memory.h). */
static char *shm_bounce(const struct shm_channel *channel)
{
    const struct shm_endpoint *endpoint = (const struct shm_endpoint *)channel->base.endpoint;
    return endpoint->bounce + (uintptr_t)shm_next(channel->source) % SHM_CACHE_LINE;
}

/* Reads private memory of another process: into place, or into the bounce buffer to combine it, or
 * to copy it on faster than the kernel would, by the first run. */
static enum status shm_take_remote(struct shm_channel *channel, struct transfer *transfer,
                                   size_t bytes)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)channel->base.endpoint;
    const struct shm_peer *peer = channel->peer;
    bool combines = transfer->kind == TRANSFER_RECV_REDUCE;
    bool bounces = combines || page_alias(shm_next(transfer->cursor), shm_next(channel->source));
    while (bytes > 0) {
        struct iovec local[VECTOR_MOST], remote[VECTOR_MOST];
        size_t most = bounces ? shm_cut(bytes, SHM_BOUNCE_BYTES, transfer->element) : bytes;
        int remote_count = shm_vector(channel->source, most, remote), local_count = 1;
        char *bounce = shm_bounce(channel);
        if (bounces)
            local[0] = (struct iovec){.iov_base = bounce, .iov_len = most};
        else
            local_count = shm_vector(transfer->cursor, most, local);
        profile_enter(transfer->profile, PROFILE_COPY);
        ssize_t result = process_vm_readv(peer->pid, local, (unsigned long)local_count, remote,
                                          (unsigned long)remote_count, 0);
        if (result <= 0) {
            int error = result < 0 ? errno : EFAULT;
            enum status lost = shm_peer_check(peer);
            if (lost)
                return lost;
            if (error == ESRCH)
                return fail_peer(REASON_PEER_LOST, peer->rank, "rank %d (pid %ld) died", peer->rank,
                                 (long)peer->pid);
            return fail(STATUS_ERROR, "cannot read the memory of rank %d (pid %ld): %s", peer->rank,
                        (long)peer->pid, strerror(error));
        }
        cursor_advance(&channel->source, (size_t)result);
        if (bounces) {
            if (combines)
                profile_enter(transfer->profile, PROFILE_REDUCE);
            shm_place(transfer, bounce, (size_t)result);
            endpoint->base.traffic.copied_receiving += (uint64_t)result;
        } else {
            cursor_advance(&transfer->cursor, (size_t)result);
        }
        bytes -= (size_t)result;
    }
    return STATUS_OK;
}

/* Reads memory of the sender that this process can address: mapped, or its own. */
static void shm_take_here(struct shm_channel *channel, struct transfer *transfer, size_t bytes)
{
    for (size_t run; bytes > 0; bytes -= run) {
        const char *from = cursor_peek(&channel->source, bytes, &run);
        shm_place(transfer, from, run);
        cursor_advance(&channel->source, run);
    }
}

/* The same from a rank of this process, whose memory goes away when it leaves. It sets `closed`
 * first, then waits while a rank sets `reading` (shm_close). */
static enum status shm_take_shared(struct shm_channel *channel, struct transfer *transfer,
                                   size_t bytes)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)channel->base.endpoint;
    _Atomic uint32_t *reading = &endpoint->segment->reading;
    atomic_store(reading, (uint32_t)channel->peer->rank + 1);
    uint32_t closed = atomic_load(&channel->peer->header->closed);
    if (closed == SHM_OPEN)
        shm_take_here(channel, transfer, bytes);
    atomic_store_explicit(reading, 0, memory_order_release);
    return closed == SHM_OPEN ? STATUS_OK : shm_fail_gone(channel->peer, closed);
}

static enum status shm_take(struct shm_channel *channel, enum shm_ring_kind kind,
                            struct transfer *transfer, size_t bytes)
{
    if (kind == SHM_LL) {
        channel->base.endpoint->traffic.copied_receiving +=
            shm_ll_take(&channel->rings[kind], transfer, &transfer->cursor, &transfer->with_cursor,
                        bytes, transfer->issued + bytes == transfer->length);
        return STATUS_OK;
    }
    if (channel->bytes) {
        shm_place(transfer, channel->bytes, bytes);
        channel->bytes += bytes;
        return STATUS_OK;
    }
    if (channel->remote)
        return shm_take_remote(channel, transfer, bytes);
    if (channel->peer->same_process)
        return shm_take_shared(channel, transfer, bytes);
    shm_take_here(channel, transfer, bytes);
    return STATUS_OK;
}

static enum status shm_receive(struct shm_channel *channel)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)channel->base.endpoint;
    size_t budget = shm_budget(channel);
    enum status status = STATUS_OK;
    for (struct transfer *transfer;
         budget > 0 && (transfer = channel->base.first) && transfer->issued < transfer->limit;) {
        enum shm_ring_kind kind = shm_ring_of(channel, transfer->length);
        struct shm_ring *ring = &channel->rings[kind];
        if (channel->left == 0 && kind == SHM_LL)
            shm_open_ll(channel, ring, transfer);
        else if (channel->left == 0)
            status = shm_open_cell(channel, ring, transfer->element);
        if (status)
            return status;
        size_t allowed = transfer->limit - transfer->issued;
        size_t bytes = channel->left < allowed ? channel->left : allowed;
        bytes =
            channel->bytes ? shm_cut(bytes, budget, transfer->element) : shm_piece(transfer, bytes);
        if (bytes == 0)
            break;
        enum path path = channel->bytes ? shm_ring_path(kind) : PATH_ZCOPY;
        profile_enter(transfer->profile, transfer_activity(transfer));
        status = shm_take(channel, kind, transfer, bytes);
        if (status)
            return status;
        endpoint->base.traffic.received[path] += bytes;
        budget -= bytes < budget ? bytes : budget;
        channel->left -= bytes;
        if (channel->left == 0 && kind != SHM_LL) {
            shm_ring_next(ring);
            shm_ring_return(ring);
        }
        transfer->issued += bytes;
        transfer_advance(transfer, bytes);
        if (transfer->issued < transfer->length)
            continue;
        if (channel->left > 0)
            return fail_peer(REASON_PEER_INVALID, channel->base.peer,
                             "rank %d sent a longer message than this rank expects",
                             channel->base.peer);
        channel_pop(&channel->base);
    }
    return STATUS_OK;
}

enum status shm_channel_progress(struct shm_channel *channel)
{
    struct profile *profile = channel->base.first ? channel->base.first->profile : NULL;
    enum status status = channel->base.sends ? shm_send(channel) : shm_receive(channel);
    profile_leave(profile);
    return status;
}

bool shm_channel_is_idle(const struct shm_channel *channel)
{
    return !channel->base.first && channel->outstanding == 0;
}
