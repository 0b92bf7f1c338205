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
#include "transports/shm/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/log.h"
#include "memory/nontemporal.h"
#include "transports/shm/ll.h"
#include "transports/shm/peer.h"
#include "transports/shm/ring.h"

/* What --copy auto does, by where the sender's bytes lie. To read private memory costs a system
 * call, and more for every run. Slots between far cores cost twice as much as between near ones. */
enum shm_source { SHM_PRIVATE_NEAR, SHM_PRIVATE_FAR, SHM_SHARED };
static const struct {
    size_t bcopy_most;      /* messages up to here go through slots */
    size_t reference_least; /* a reference covers at least so many bytes, */
    size_t run_least;       /* in runs of at least so many */
} shm_auto[] = {
    [SHM_PRIVATE_NEAR] = {.bcopy_most = 64 << 10, .reference_least = 8 << 10, .run_least = 1 << 10},
    [SHM_PRIVATE_FAR] = {.bcopy_most = 32 << 10, .reference_least = 8 << 10, .run_least = 1 << 10},
    [SHM_SHARED] = {.bcopy_most = SHM_BCOPY_MOST, .reference_least = 4 << 10, .run_least = 1},
};

#define NONTEMPORAL_LEAST ((size_t)2 << 10) /* shorter copies to a far peer go by the cache, too */

/* Bytes moved for one channel before the others have their turn, and bytes of one reference. */
#define TURN_LEAST     ((size_t)4 << 10)
#define TURN_MOST      ((size_t)256 << 10)
#define REFERENCE_MOST ((size_t)4 << 20)
#define HELP_MOST      ((size_t)4 << 20) /* messages that an idle sender helps to copy */
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
static void shm_collect(struct shm_channel *channel, enum shm_ring_kind kind)
{
    struct shm_ring *ring = &channel->rings[kind];
    uint64_t credit = atomic_load_explicit(ring->credit, memory_order_acquire);
    if (!ring->issues) {
        ring->returned = credit;
        return;
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
}

bool shm_has_room(struct shm_channel *channel, enum shm_ring_kind kind)
{
    struct shm_ring *ring = &channel->rings[kind];
    if (ring->position - ring->returned == ring->count)
        shm_collect(channel, kind);
    return ring->position - ring->returned < ring->count;
}

/* The shared region of this rank in which `address` lies; -1: none. */
static int32_t shm_region_of(const struct shm_address *own, uint64_t address)
{
    for (int32_t i = 0; i < own->region_count; i++) {
        if (address - own->regions[i].base < own->regions[i].bytes)
            return i;
    }
    return -1;
}

/* Makes a reference to at most `most` bytes at the cursor, one strided piece. Returns how many. */
static size_t shm_describe(const struct cursor *cursor, size_t most,
                           struct shm_reference *reference)
{
    const struct piece *piece = cursor->piece;
    size_t run, times = 1;
    const char *address = cursor_peek(cursor, most, &run);
    if (cursor->offset == 0 && run == piece->run) {
        size_t left = piece->times - cursor->time;
        times = most / run < left ? most / run : left;
    }
    *reference = (struct shm_reference){
        .address = (uintptr_t)address, .run = run, .stride = piece->stride, .times = times};
    return run * times;
}

/* Is this channel the only active one, and a sending one? */
static bool shm_only_sends(const struct shm_channel *channel)
{
    const struct shm_endpoint *endpoint = (const struct shm_endpoint *)channel->base.endpoint;
    return endpoint->active[true].first == channel && !channel->next_active &&
           !endpoint->active[false].first;
}

/* Does --copy auto send these bytes of a message by reference? */
static bool shm_auto_refers(const struct shm_channel *channel, size_t length, size_t bytes,
                            const struct shm_reference *reference)
{
    const struct transport_config *config = &channel->base.endpoint->config;
    enum shm_source source = reference->region >= 0                ? SHM_SHARED
                             : shm_is_far(channel->peer->distance) ? SHM_PRIVATE_FAR
                                                                   : SHM_PRIVATE_NEAR;
    /* A system call cannot combine what it reads. To copy it twice is faster if both ranks have a
     * core, or if the sender has little else to do. */
    if (source != SHM_SHARED && config->combines &&
        (channel->peer->distance != SHM_CORELESS || config->one_way))
        return false;
    /* Slots use both cores, where the sender's would be idle while the other one reads. But bytes
     * that do not stay in the cache on their way go through memory twice. */
    if (source == SHM_PRIVATE_NEAR && length <= HELP_MOST && shm_only_sends(channel))
        return false;
    return length > shm_auto[source].bcopy_most && bytes >= shm_auto[source].reference_least &&
           reference->run >= shm_auto[source].run_least;
}

/* The number of bytes to which the next cell refers; 0: it holds bytes itself. */
static size_t shm_refer(const struct shm_channel *channel, const struct transfer *transfer,
                        struct shm_reference *reference)
{
    const struct shm_endpoint *endpoint = (const struct shm_endpoint *)channel->base.endpoint;
    enum copy_policy policy = endpoint->base.config.copy;
    if (policy == COPY_BCOPY ||
        (policy == COPY_AUTO && transfer->length <= shm_auto[SHM_SHARED].bcopy_most))
        return 0;
    size_t most = shm_piece(transfer, transfer->limit - transfer->issued);
    size_t bytes = shm_describe(&transfer->cursor, most, reference);
    reference->region = shm_region_of(&endpoint->address, reference->address);
    if (reference->region < 0 && !channel->peer->it_reads)
        return 0;
    if (policy == COPY_AUTO && !shm_auto_refers(channel, transfer->length, bytes, reference))
        return 0;
    return bytes;
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
    size_t bytes = shm_refer(channel, transfer, &reference);
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
    for (int kind = SHM_SHORT; kind < SHM_RINGS && channel->outstanding > 0; kind++)
        shm_collect(channel, (enum shm_ring_kind)kind);
    for (struct transfer *transfer;
         budget > 0 && (transfer = channel->base.first) && transfer->issued < transfer->limit;) {
        enum shm_ring_kind kind = shm_ring_of(channel, transfer->length);
        if (kind == SHM_LL && transfer->issued == 0)
            shm_ll_begin(&channel->rings[kind], transfer->length, true);
        if (!shm_has_room(channel, kind)) {
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
    return STATUS_OK;
}

/* Looks for the next cell. Sets channel->left to its bytes; 0: it has not arrived. */
static void shm_open_cell(struct shm_channel *channel, struct shm_ring *ring)
{
    struct shm_cell *cell = shm_ring_cell(ring);
    uint64_t head = atomic_load_explicit(&cell->head, memory_order_acquire);
    if (head >> 32 != (uint32_t)(ring->position + 1))
        return;
    channel->left = (uint32_t)head >> 2;
    if ((head & 3) == SHM_BYTES) {
        channel->bytes = (char *)cell + ring->payload_at;
        return;
    }
    struct shm_reference reference;
    memcpy(&reference, cell->data, sizeof(reference));
    const struct shm_peer *peer = channel->peer;
    channel->bytes = NULL;
    channel->remote = !peer->same_process && reference.region < 0;
    channel->piece = (struct piece){.base = (char *)(uintptr_t)reference.address,
                                    .run = reference.run,
                                    .stride = reference.stride,
                                    .times = reference.times};
    if (!peer->same_process && reference.region >= 0)
        channel->piece.base = peer->regions[reference.region].mapped +
                              (reference.address - peer->regions[reference.region].base);
    cursor_start(&channel->source, (struct layout){.pieces = &channel->piece, .count = 1});
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

/* Reads private memory of another process: into place, or into the bounce buffer to combine it. */
static enum status shm_take_remote(struct shm_channel *channel, struct transfer *transfer,
                                   size_t bytes)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)channel->base.endpoint;
    const struct shm_peer *peer = channel->peer;
    bool combines = transfer->kind == TRANSFER_RECV_REDUCE;
    while (bytes > 0) {
        struct iovec local[VECTOR_MOST], remote[VECTOR_MOST];
        size_t most = combines ? shm_cut(bytes, SHM_BOUNCE_BYTES, transfer->element) : bytes;
        int remote_count = shm_vector(channel->source, most, remote), local_count = 1;
        if (combines)
            local[0] = (struct iovec){.iov_base = endpoint->bounce, .iov_len = most};
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
        if (combines) {
            profile_enter(transfer->profile, PROFILE_REDUCE);
            shm_place(transfer, endpoint->bounce, (size_t)result);
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
    _Atomic uint32_t *reading = &endpoint->segment->header->reading;
    atomic_store(reading, (uint32_t)channel->peer->rank + 1);
    bool there = !atomic_load(&channel->peer->header->closed);
    if (there)
        shm_take_here(channel, transfer, bytes);
    atomic_store_explicit(reading, 0, memory_order_release);
    return there ? STATUS_OK : shm_peer_check(channel->peer);
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
    for (struct transfer *transfer;
         budget > 0 && (transfer = channel->base.first) && transfer->issued < transfer->limit;) {
        enum shm_ring_kind kind = shm_ring_of(channel, transfer->length);
        struct shm_ring *ring = &channel->rings[kind];
        if (channel->left == 0 && kind == SHM_LL)
            shm_open_ll(channel, ring, transfer);
        else if (channel->left == 0)
            shm_open_cell(channel, ring);
        size_t allowed = transfer->limit - transfer->issued;
        size_t bytes = channel->left < allowed ? channel->left : allowed;
        bytes =
            channel->bytes ? shm_cut(bytes, budget, transfer->element) : shm_piece(transfer, bytes);
        if (bytes == 0)
            break;
        enum path path = channel->bytes ? shm_ring_path(kind) : PATH_ZCOPY;
        profile_enter(transfer->profile, transfer_activity(transfer));
        enum status status = shm_take(channel, kind, transfer, bytes);
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
