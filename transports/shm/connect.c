/*
 * connect.c - makes the channels between this rank and its peers.
 *
 * Two ranks arrange it in the connect slots of their segments:
 *
 *     offer     this rank makes a block for the channels from the peer. Its connect slot for the
 *               peer says where the block is, the sizes of its rings, and whether this rank can
 *               read the private memory of the peer.
 *     accept    when the peer has offered: this rank maps the peer's block, makes the channels, and
 *               says so in its slot
 *     wait      until the peer has accepted, too; then the slots may be written again
 *
 * Then they measure the latency of a cache line between them. It shows whether their cores share a
 * cache, which a virtual machine does not tell.
 */
#include "transports/shm/internal.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#define FAR_NS                                                                                     \
    90 /* latency of a line: 50 between cores with a common cache, 140 without, measured */

static enum status shm_offer(struct shm_endpoint *endpoint, struct shm_peer *peer, int lanes,
                             const struct shm_geometry *geometry)
{
    struct shm_connect_slot *connect_slot = &endpoint->segment->header->connect_slots[peer->rank];
    struct shm_block *block = &endpoint->segment->offered[peer->rank];
    size_t bytes = shm_block_bytes(geometry, lanes - peer->lanes);
    void *base;
    uint64_t offset;
    enum status status = shm_segment_grow(endpoint->segment, bytes, &base, &offset);
    if (status)
        return status;
    endpoint->used += bytes;
    *block = (struct shm_block){.base = base, .late_bytes = SIZE_MAX};
    block->offer = (struct shm_offer){
        .offset = offset,
        .first_lane = (uint32_t)peer->lanes,
        .lanes = (uint32_t)(lanes - peer->lanes),
        .geometry = *geometry,
        .reads_peer = peer->we_read,
        .has_core = endpoint->base.config.has_core,
        .is_bound = endpoint->base.config.is_bound,
    };
    if (endpoint->late >= 0) {
        block->late_bytes = endpoint->late_region->bytes;
        block->offer.late = (uintptr_t)endpoint->late_region->base;
        endpoint->address.regions[endpoint->late].base = block->offer.late;
    }
    connect_slot->offer = block->offer;
    atomic_store_explicit(&connect_slot->offered, ++peer->round, memory_order_release);
    return STATUS_OK;
}

/* One turn of a wait for the peer: yields the core, and checks now and then whether to go on. */
static enum status shm_yield(const struct shm_endpoint *endpoint, const struct shm_peer *peer,
                             unsigned turns)
{
    const struct transport_config *config = &endpoint->base.config;
    sched_yield();
    if (turns % 64)
        return STATUS_OK;
    enum tick_answer answer = tick_wait(config->tick, peer->rank);
    if (answer == TICK_ENDED)
        return fail(STATUS_ERROR, "the job ended while rank %d was being connected", peer->rank);
    enum status status = shm_peer_check(peer);
    if (!status && answer == TICK_LATE)
        status = fail_peer(REASON_PEER_LATE, peer->rank,
                           "rank %d (pid %ld) did not connect through shared memory within %g s",
                           peer->rank, (long)peer->pid, config->timeout);
    return status;
}

/* Waits until the peer has raised a word of its connect slot to `value`, the next after the one
 * that it had. */
static enum status shm_await(const struct shm_endpoint *endpoint, const struct shm_peer *peer,
                             _Atomic uint32_t *word, uint32_t value)
{
    enum status status = STATUS_OK;
    uint32_t found;
    for (unsigned turns = 0;
         !status && (found = atomic_load_explicit(word, memory_order_acquire)) != value;)
        status = found + 1 == value ? shm_yield(endpoint, peer, ++turns)
                                    : fail_garbage(peer->rank, "a number of a round");
    tick_on(endpoint->base.config.tick);
    return status;
}

/* The rings of lane `index` of a block. */
static void shm_channel_lay(struct shm_channel *channel, char *block, uint32_t index,
                            const struct shm_geometry *geometry)
{
    char *at = block + index * shm_geometry_bytes(geometry);
    char *cells = at + SHM_RINGS * SHM_CACHE_LINE;
    for (int kind = 0; kind < SHM_RINGS; kind++) {
        struct shm_ring *ring = &channel->rings[kind];
        ring->credit = (_Atomic uint64_t *)(void *)(at + kind * SHM_CACHE_LINE);
        ring->cells = cells;
        ring->count = geometry->cells[kind];
        ring->stride = shm_cell_stride((enum shm_ring_kind)kind, geometry);
        ring->payload = shm_payload((enum shm_ring_kind)kind, geometry);
        ring->payload_at =
            kind == SHM_LINES ? offsetof(struct shm_cell, data) : sizeof(struct shm_cell);
        cells += ring->count * ring->stride;
    }
    shm_ll_reset(&channel->rings[SHM_LL], 0);
}

static void shm_channel_free(struct shm_channel *channel)
{
    for (int kind = 0; kind < SHM_RINGS; kind++)
        free(channel->rings[kind].issues);
    free(channel);
}

static struct shm_channel *shm_channel_create(struct shm_endpoint *endpoint, struct shm_peer *peer,
                                              int lane, bool sends, const struct shm_block *block)
{
    struct shm_channel *channel = new_array(1, sizeof(*channel));
    channel->base = (struct channel){
        .endpoint = &endpoint->base, .peer = peer->rank, .lane = lane, .sends = sends};
    channel->peer = peer;
    shm_channel_lay(channel, block->base, (uint32_t)lane - block->offer.first_lane,
                    &block->offer.geometry);
    for (int kind = SHM_SHORT; sends && kind <= SHM_LONG; kind++) {
        struct shm_ring *ring = &channel->rings[kind];
        ring->issues = new_array(ring->count, sizeof(*ring->issues));
    }
    return channel;
}

/* Makes the channels of both directions: from the peer in this rank's block, to it in the
 * peer's. */
static void shm_channels_create(struct shm_endpoint *endpoint, struct shm_peer *peer,
                                const struct shm_block *const blocks[2])
{
    int lanes = peer->lanes + (int)blocks[0]->offer.lanes;
    for (; peer->lanes < lanes; peer->lanes++)
        for (int sends = 0; sends < 2; sends++) {
            int count = peer->lanes;
            *LIST_ADD(peer->channels[sends], count) =
                shm_channel_create(endpoint, peer, peer->lanes, sends, blocks[sends]);
        }
}

/* The number of lanes and the sizes in its offer are the peer's; where the block lies follows. */
static enum status shm_block_map(struct shm_peer *peer, struct shm_block *block)
{
    size_t bytes = shm_block_bytes(&block->offer.geometry, (int)block->offer.lanes);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, peer->fd,
                      (off_t)block->offer.offset);
    if (base == MAP_FAILED)
        return fail(STATUS_ERROR, "cannot map %zu KiB of the shared memory of rank %d: %s",
                    bytes >> 10, peer->rank, strerror(errno));
    block->base = base;
    enum status status = shm_mapping_add(&peer->blocks, base, bytes);
    if (status)
        munmap(base, bytes);
    return status;
}

/* Takes a copy of the peer's offer, since the peer may write its slot again; checks it, and maps
 * its block. */
static enum status shm_offer_take(const struct shm_endpoint *endpoint, struct shm_peer *peer,
                                  struct shm_block *theirs)
{
    const struct transport_config *config = &endpoint->base.config;
    struct stat file;
    if (peer->same_process)
        *theirs = peer->segment->offered[config->rank];
    else
        shared_snapshot(&theirs->offer, &peer->header->connect_slots[config->rank].offer,
                        sizeof(theirs->offer));
    const struct shm_offer *own = &endpoint->segment->offered[peer->rank].offer;
    if (own->lanes != theirs->offer.lanes || own->first_lane != theirs->offer.first_lane)
        return fail_peer(REASON_PEER_INVALID, peer->rank,
                         "rank %d asks for other lanes than this rank", peer->rank);
    if (peer->same_process)
        return STATUS_OK;
    if (fstat(peer->fd, &file) ||
        !shm_offer_fits(&theirs->offer, config->copy, (uint64_t)file.st_size))
        return fail_peer(REASON_PEER_INVALID, peer->rank,
                         "rank %d sent invalid data about its shared memory: check that all ranks "
                         "run the same version of cctest",
                         peer->rank);
    return shm_block_map(peer, theirs);
}

static enum status shm_accept(struct shm_endpoint *endpoint, struct shm_peer *peer)
{
    const struct shm_block *own = &endpoint->segment->offered[peer->rank];
    struct shm_block theirs = {.late_bytes = SIZE_MAX};
    TRY(shm_offer_take(endpoint, peer, &theirs));
    peer->it_reads = theirs.offer.reads_peer;
    for (int i = 0; i < peer->region_count; i++) {
        if (peer->regions[i].base)
            continue;
        peer->regions[i].base = theirs.offer.late;
        if (theirs.late_bytes < peer->regions[i].bytes)
            peer->regions[i].bytes = theirs.late_bytes;
    }
    if (peer->distance == SHM_UNKNOWN)
        peer->distance = !own->offer.has_core || !theirs.offer.has_core   ? SHM_CORELESS
                         : !own->offer.is_bound || !theirs.offer.is_bound ? SHM_UNBOUND
                                                                          : SHM_UNMEASURED;
    const struct shm_block *const blocks[2] = {own, &theirs};
    shm_channels_create(endpoint, peer, blocks);
    atomic_store_explicit(&endpoint->segment->header->connect_slots[peer->rank].accepted,
                          peer->round, memory_order_release);
    return STATUS_OK;
}

/* Offers to the peers that lack lanes, and lists them in `lacking`. */
static enum status shm_offer_all(struct shm_endpoint *endpoint, const int *ranks, int count,
                                 int lanes, struct shm_peer **lacking, int *lacking_count)
{
    const struct transport_config *config = &endpoint->base.config;
    size_t channels = 0;
    *lacking_count = 0;
    for (int i = 0; i < count; i++) {
        struct shm_peer *peer = endpoint->peers[ranks[i]];
        if (!peer)
            return fail(STATUS_ERROR, "rank %d was not attached to shared memory before connect()",
                        ranks[i]);
        if (peer->lanes >= lanes)
            continue;
        lacking[(*lacking_count)++] = peer;
        channels += (size_t)(lanes - peer->lanes);
    }
    /* Half of what is left, so that later rounds get a share. */
    size_t room = endpoint->used < endpoint->budget ? (endpoint->budget - endpoint->used) / 2 : 0;
    struct shm_geometry geometry;
    enum status status = shm_geometry_choose(config, channels, room, &geometry);
    for (int i = 0; !status && i < *lacking_count; i++) {
        if (shm_refers(config->copy))
            status = shm_peer_map_regions(lacking[i]);
        if (!status)
            status = shm_offer(endpoint, lacking[i], lanes, &geometry);
    }
    return status;
}

/* Pings from `first` to `last`, to and fro; the lower rank begins. */
static enum status shm_ping_pong(const struct shm_endpoint *endpoint, struct shm_peer *peer,
                                 uint32_t first, uint32_t last)
{
    const struct transport_config *config = &endpoint->base.config;
    _Atomic uint32_t *own = &endpoint->segment->header->connect_slots[peer->rank].ping;
    _Atomic uint32_t *other = &peer->header->connect_slots[config->rank].ping;
    bool begins = config->rank < peer->rank;
    for (uint32_t ping = first; ping <= last; ping++) {
        if (begins)
            atomic_store_explicit(own, ping, memory_order_release);
        uint32_t found;
        for (unsigned looks = 0;
             (found = atomic_load_explicit(other, memory_order_acquire)) != ping;) {
            cpu_relax();
            enum status status = found + 1 != ping ? fail_garbage(peer->rank, "a ping")
                                 : ++looks < 1000  ? STATUS_OK
                                                   : shm_yield(endpoint, peer, looks);
            if (status)
                return status;
        }
        if (!begins)
            atomic_store_explicit(own, ping, memory_order_release);
    }
    return STATUS_OK;
}

static enum status shm_measure(const struct shm_endpoint *endpoint, struct shm_peer *peer)
{
    const uint32_t series = 16, pings = 32;
    uint64_t least = UINT64_MAX;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < series && !status; i++) {
        uint64_t begun = clock_ns();
        status = shm_ping_pong(endpoint, peer, i * pings + 1, (i + 1) * pings);
        uint64_t took = clock_ns() - begun;
        least = took < least ? took : least;
        tick_on(endpoint->base.config.tick); /* a series may take long on a busy host */
    }
    peer->line_ns = least / pings / 2;
    peer->distance = peer->line_ns > FAR_NS ? SHM_FAR : SHM_NEAR;
    return status;
}

/* One pair at a time: in round k rank r meets rank k - r, so that no ranks wait in a circle. */
static enum status shm_measure_all(const struct shm_endpoint *endpoint)
{
    const struct transport_config *config = &endpoint->base.config;
    enum status status = STATUS_OK;
    for (int round = 0; round < config->ranks && !status; round++) {
        struct shm_peer *peer =
            endpoint->peers[(round - config->rank + config->ranks) % config->ranks];
        if (peer && peer->distance == SHM_UNMEASURED)
            status = shm_measure(endpoint, peer);
    }
    return status;
}

enum status shm_connect(struct endpoint *base, const int *ranks, int count, int lanes)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    if (count == 0)
        return STATUS_OK;
    struct shm_peer **lacking = new_array((size_t)count, sizeof(struct shm_peer *));
    int lacking_count;
    enum status status = shm_offer_all(endpoint, ranks, count, lanes, lacking, &lacking_count);
    for (int i = 0; !status && i < lacking_count; i++) {
        struct shm_connect_slot *connect_slot =
            &lacking[i]->header->connect_slots[base->config.rank];
        status = shm_await(endpoint, lacking[i], &connect_slot->offered, lacking[i]->round);
        if (!status)
            status = shm_accept(endpoint, lacking[i]);
    }
    for (int i = 0; !status && i < lacking_count; i++) {
        struct shm_connect_slot *connect_slot =
            &lacking[i]->header->connect_slots[base->config.rank];
        status = shm_await(endpoint, lacking[i], &connect_slot->accepted, lacking[i]->round);
    }
    if (!status)
        status = shm_measure_all(endpoint);
    free(lacking);
    return status;
}

void shm_disconnect(struct shm_peer *peer)
{
    for (int sends = 0; sends < 2; sends++) {
        for (int lane = 0; lane < peer->lanes; lane++)
            shm_channel_free(peer->channels[sends][lane]);
        free(peer->channels[sends]);
    }
}
