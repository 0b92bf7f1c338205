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
 *
 * The more channels share the segment, the smaller are the rings, so that the segment is bounded.
 */
#include "transports/shm/connect.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "memory/memory_limits.h"
#include "transports/shm/ll.h"
#include "transports/shm/peer.h"
#include "transports/shm/segment.h"

#define PAGE ((size_t)4096)
#define FAR_NS                                                                                     \
    90 /* latency of a line: 50 between cores with a common cache, 140 without, measured */

/* The sizes of rings where there is room, and the least to which they shrink. */
static const struct shm_geometry shm_wanted = {.cells = {16, 8, 8}, .slot_bytes = 16 << 10};
static const struct shm_geometry shm_least = {.cells = {4, 2, 2}, .slot_bytes = 256};
#define SHORT_BYTES ((size_t)4 << 10) /* the most that a short slot holds */

/* With --copy ll: the region of an epoch and that of the next one. */
static const struct shm_geometry shm_wanted_ll = {.cells = {[SHM_LL] = 2}, .slot_bytes = 16 << 10};

/* A ring for long messages is larger than the second-level cache. When a slot is written again, its
 * lines have left the caches of the two cores for the one that they share. Slots of a smaller ring
 * would be fetched out of the other core's cache, at a quarter of the speed. */
#define RING_CACHES 2
#define LONG_MOST   512

/* Sizes that the user sets may exceed the usual budget, and so may the least rings of very many
 * channels. But all ranks of a host together take at most 1/MEMORY_PART of the memory that is
 * left. */
#define MEMORY_PART 4

/* Bytes that a cell of a ring holds. */
static size_t shm_payload(enum shm_ring_kind kind, const struct shm_geometry *geometry)
{
    size_t bytes = geometry->slot_bytes;
    if (kind == SHM_LINES)
        return sizeof(((struct shm_cell *)0)->data);
    return kind == SHM_SHORT && bytes > SHORT_BYTES ? SHORT_BYTES : bytes;
}

_Static_assert(SHORT_BYTES <= SHM_BCOPY_MOST, "an eager message never goes by reference");

static size_t shm_cell_stride(enum shm_ring_kind kind, const struct shm_geometry *geometry)
{
    if (kind == SHM_LL)
        return 2 * shm_payload(kind, geometry); /* half of a word is its flag */
    return sizeof(struct shm_cell) + (kind == SHM_LINES ? 0 : shm_payload(kind, geometry));
}

static size_t shm_geometry_bytes(const struct shm_geometry *geometry)
{
    size_t bytes = SHM_RINGS * SHM_CACHE_LINE;
    for (int kind = 0; kind < SHM_RINGS; kind++)
        bytes += geometry->cells[kind] * shm_cell_stride((enum shm_ring_kind)kind, geometry);
    return bytes;
}

static size_t shm_block_bytes(const struct shm_geometry *geometry, int lanes)
{
    return ((size_t)lanes * shm_geometry_bytes(geometry) + PAGE - 1) / PAGE * PAGE;
}

/* Shrinks one size that the user did not set: first the one that costs least speed. False: all are
 * at their least. */
static bool shm_geometry_shrink(const struct transport_config *config,
                                struct shm_geometry *geometry)
{
    uint32_t *cells = geometry->cells, *slot_bytes = &geometry->slot_bytes;
    for (int hard = 0; hard < 2; hard++) { /* first pass: none down to its least */
        for (int kind = SHM_LONG; kind >= SHM_SHORT && !config->slots; kind--) {
            if (cells[kind] > shm_least.cells[kind] << !hard) {
                cells[kind] /= 2;
                return true;
            }
        }
        if (!config->slot_bytes && *slot_bytes > shm_least.slot_bytes << !hard) {
            *slot_bytes /= 2;
            return true;
        }
        if (cells[SHM_LINES] > shm_least.cells[SHM_LINES]) {
            cells[SHM_LINES] /= 2;
            return true;
        }
    }
    return false;
}

static size_t shm_local_ranks(const struct transport_config *config)
{
    return config->local_ranks > 1 ? (size_t)config->local_ranks : 2;
}

/* The most bytes that one of these ranks may have. */
static size_t shm_share(const struct transport_config *config)
{
    return memory_available() / MEMORY_PART / shm_local_ranks(config);
}

/* Fails if the rings do not fit, after all shrinking. The kernel would not refuse the memory, but
 * kill a rank. */
static enum status shm_geometry_check(const struct transport_config *config, size_t channels,
                                      const struct shm_geometry *geometry)
{
    size_t ranks = shm_local_ranks(config), most = shm_share(config);
    size_t wanted = channels * shm_geometry_bytes(geometry);
    if (wanted <= most)
        return STATUS_OK;
    if (!config->slots && !config->slot_bytes)
        return fail(STATUS_ERROR,
                    "%zu channels would take at least %zu KiB of shared memory on a rank, which "
                    "may have %zu KiB (1/%d of what is available for the %zu ranks here): "
                    "use fewer --channels or ranks, or another transport (-x tcp)",
                    channels, wanted >> 10, most >> 10, MEMORY_PART, ranks);
    return fail(
        STATUS_USAGE,
        "%u slots of %u bytes for each lane, %zu in all, would take %zu MiB of shared memory "
        "on a rank, which may have %zu MiB (1/%d of what is available for the %zu ranks here): "
        "give fewer --slots or a smaller --slot-size",
        geometry->cells[SHM_LONG] + geometry->cells[SHM_LL], geometry->slot_bytes, channels,
        wanted >> 20, most >> 20, MEMORY_PART, ranks);
}

/* The sizes for which there may not be room. */
static struct shm_geometry shm_geometry_want(const struct transport_config *config)
{
    struct shm_geometry geometry = config->copy == COPY_LL ? shm_wanted_ll : shm_wanted;
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t ring = RING_CACHES * (cache > 0 ? (size_t)cache : (size_t)1 << 20);
    while (geometry.cells[SHM_LONG] > 0 && geometry.cells[SHM_LONG] < LONG_MOST &&
           geometry.cells[SHM_LONG] * (size_t)geometry.slot_bytes < ring)
        geometry.cells[SHM_LONG] *= 2;
    if (config->slot_bytes) {
        size_t lines = (config->slot_bytes + SHM_CACHE_LINE - 1) / SHM_CACHE_LINE;
        geometry.slot_bytes = (uint32_t)(lines * SHM_CACHE_LINE);
    }
    if (config->slots && config->copy != COPY_LL)
        geometry.cells[SHM_SHORT] = geometry.cells[SHM_LONG] = (uint32_t)config->slots;
    return geometry;
}

/* The sizes that the user set, and for the others as much as `channels` of them may have in `room`
 * bytes. */
static enum status shm_geometry_choose(const struct transport_config *config, size_t channels,
                                       size_t room, struct shm_geometry *geometry)
{
    if (config->slot_bytes > SHM_SLOT_MOST)
        return fail(STATUS_USAGE, "a slot of the shm transport has at most %zu MiB",
                    SHM_SLOT_MOST >> 20);
    *geometry = shm_geometry_want(config);
    size_t most = shm_share(config);
    room = room < most ? room : most;
    while (channels * shm_geometry_bytes(geometry) > room && shm_geometry_shrink(config, geometry))
        continue;
    return shm_geometry_check(config, channels, geometry);
}

static enum status shm_offer(struct shm_endpoint *endpoint, struct shm_peer *peer, int lanes,
                             const struct shm_geometry *geometry)
{
    struct shm_connect_slot *connect_slot = &endpoint->segment->header->connect_slots[peer->rank];
    size_t bytes = shm_block_bytes(geometry, lanes - peer->lanes);
    void *block;
    enum status status = shm_segment_grow(endpoint->segment, bytes, &block, &connect_slot->offset);
    if (status)
        return status;
    endpoint->used += bytes;
    connect_slot->address = (uintptr_t)block;
    connect_slot->first_lane = (uint32_t)peer->lanes;
    connect_slot->lanes = (uint32_t)(lanes - peer->lanes);
    connect_slot->geometry = *geometry;
    connect_slot->reads_peer = peer->we_read;
    connect_slot->has_core = endpoint->base.config.has_core;
    connect_slot->is_bound = endpoint->base.config.is_bound;
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

static enum status shm_await(const struct shm_endpoint *endpoint, const struct shm_peer *peer,
                             _Atomic uint32_t *word)
{
    enum status status = STATUS_OK;
    for (unsigned turns = 0;
         !status && atomic_load_explicit(word, memory_order_acquire) < peer->round;)
        status = shm_yield(endpoint, peer, ++turns);
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
                                              int lane, bool sends, char *block,
                                              const struct shm_connect_slot *connect_slot)
{
    struct shm_channel *channel = calloc(1, sizeof(*channel));
    if (!channel)
        return NULL;
    channel->base = (struct channel){
        .endpoint = &endpoint->base, .peer = peer->rank, .lane = lane, .sends = sends};
    channel->peer = peer;
    shm_channel_lay(channel, block, (uint32_t)lane - connect_slot->first_lane,
                    &connect_slot->geometry);
    for (int kind = SHM_SHORT; sends && kind <= SHM_LONG; kind++) {
        struct shm_ring *ring = &channel->rings[kind];
        ring->issues = calloc(ring->count, sizeof(*ring->issues));
        if (!ring->issues) {
            shm_channel_free(channel);
            return NULL;
        }
    }
    return channel;
}

/* Makes the channels of both directions: from the peer in this rank's block, to it in the
 * peer's. */
static enum status shm_channels_create(struct shm_endpoint *endpoint, struct shm_peer *peer,
                                       const struct shm_connect_slot *const connect_slots[2],
                                       char *const blocks[2])
{
    int lanes = peer->lanes + (int)connect_slots[0]->lanes;
    for (int sends = 0; sends < 2; sends++) {
        struct shm_channel **grown =
            realloc(peer->channels[sends], (size_t)lanes * sizeof(struct shm_channel *));
        if (!grown)
            goto out_of_memory;
        peer->channels[sends] = grown;
    }
    for (; peer->lanes < lanes; peer->lanes++) {
        for (int sends = 0; sends < 2; sends++) {
            struct shm_channel *channel = shm_channel_create(endpoint, peer, peer->lanes, sends,
                                                             blocks[sends], connect_slots[sends]);
            peer->channels[sends][peer->lanes] = channel;
            if (channel)
                continue;
            if (sends)
                shm_channel_free(peer->channels[0][peer->lanes]);
            goto out_of_memory;
        }
    }
    return STATUS_OK;
out_of_memory:
    return fail(STATUS_ERROR, "out of memory for the channels to rank %d", peer->rank);
}

bool shm_connect_slot_fits(const struct shm_connect_slot *connect_slot, uint64_t segment_bytes)
{
    /* Slots are whole cache lines. SHM_SLOT_MOST keeps the products below from overflow. */
    uint32_t slot = connect_slot->geometry.slot_bytes;
    if (slot == 0 || slot % SHM_CACHE_LINE || slot > SHM_SLOT_MOST || connect_slot->lanes < 1 ||
        connect_slot->lanes > INT32_MAX || connect_slot->offset > segment_bytes ||
        connect_slot->offset % PAGE)
        return false;
    size_t most = (size_t)(segment_bytes - connect_slot->offset);
    return shm_geometry_bytes(&connect_slot->geometry) <= most / connect_slot->lanes &&
           shm_block_bytes(&connect_slot->geometry, (int)connect_slot->lanes) <= most;
}

static enum status shm_accept(struct shm_endpoint *endpoint, struct shm_peer *peer)
{
    struct shm_connect_slot *own = &endpoint->segment->header->connect_slots[peer->rank];
    const struct shm_connect_slot *other = &peer->header->connect_slots[endpoint->base.config.rank];
    if (own->lanes != other->lanes || own->first_lane != other->first_lane)
        return fail_peer(REASON_PEER_INVALID, peer->rank,
                         "rank %d asks for other lanes than this rank", peer->rank);
    char *block = (char *)(uintptr_t)other->address;
    if (!peer->same_process) {
        struct stat file;
        if (fstat(peer->fd, &file) || !shm_connect_slot_fits(other, (uint64_t)file.st_size))
            return fail_peer(
                REASON_PEER_INVALID, peer->rank,
                "rank %d sent invalid data about its shared memory: check that all ranks run "
                "the same version of cctest",
                peer->rank);
        size_t bytes = shm_block_bytes(&other->geometry, (int)other->lanes);
        block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, peer->fd,
                     (off_t)other->offset);
        if (block == MAP_FAILED)
            return fail(STATUS_ERROR, "cannot map %zu KiB of the shared memory of rank %d: %s",
                        bytes >> 10, peer->rank, strerror(errno));
        enum status status = shm_mapping_add(&peer->blocks, block, bytes);
        if (status) {
            munmap(block, bytes);
            return status;
        }
    }
    peer->it_reads = other->reads_peer;
    if (peer->distance == SHM_UNKNOWN)
        peer->distance = !own->has_core || !other->has_core   ? SHM_CORELESS
                         : !own->is_bound || !other->is_bound ? SHM_UNBOUND
                                                              : SHM_UNMEASURED;
    const struct shm_connect_slot *const connect_slots[2] = {own, other};
    char *const blocks[2] = {(char *)(uintptr_t)own->address, block};
    enum status status = shm_channels_create(endpoint, peer, connect_slots, blocks);
    if (!status)
        atomic_store_explicit(&own->accepted, peer->round, memory_order_release);
    return status;
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
        for (unsigned looks = 0; atomic_load_explicit(other, memory_order_acquire) < ping;) {
            cpu_relax();
            if (++looks < 1000)
                continue;
            enum status status = shm_yield(endpoint, peer, looks);
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
    struct shm_peer **lacking = calloc((size_t)count, sizeof(struct shm_peer *));
    if (!lacking)
        return fail(STATUS_ERROR, "out of memory for %d peers", count);
    int lacking_count;
    enum status status = shm_offer_all(endpoint, ranks, count, lanes, lacking, &lacking_count);
    for (int i = 0; !status && i < lacking_count; i++) {
        struct shm_connect_slot *connect_slot =
            &lacking[i]->header->connect_slots[base->config.rank];
        status = shm_await(endpoint, lacking[i], &connect_slot->offered);
        if (!status)
            status = shm_accept(endpoint, lacking[i]);
    }
    for (int i = 0; !status && i < lacking_count; i++) {
        struct shm_connect_slot *connect_slot =
            &lacking[i]->header->connect_slots[base->config.rank];
        status = shm_await(endpoint, lacking[i], &connect_slot->accepted);
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
