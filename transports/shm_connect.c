/*
 * shm_connect.c - makes the channels between this rank and its peers.
 *
 * Two ranks arrange it at their desks in each other's segments, with nothing but shared memory:
 *
 *     offer     this rank makes a block for the channels from the peer, and says at its desk for
 *               the peer where it is, how it is cut, and whether it can read the peer's private
 *               memory
 *     accept    when the peer has offered: maps the peer's block, makes the channels, says so
 *     wait      until the peer has accepted too (its desk may then be written again)
 *
 * How large the rings are follows from how many channels share the segment, so that the whole of it
 * stays bounded.
 */
#include "shm.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "log.h"

#define PAGE ((size_t)4096)

/* Rings where there is room for them, and the smallest to which they shrink. */
static const struct shm_geometry shm_wanted = {.lines = 16, .slots = 128, .slot_bytes = 16 << 10};
static const struct shm_geometry shm_least = {.lines = 4, .slots = 2, .slot_bytes = 256};

static size_t shm_geometry_bytes(const struct shm_geometry *geometry)
{
    return 2 * SHM_CACHE_LINE + geometry->lines * sizeof(struct shm_cell) +
           geometry->slots * (sizeof(struct shm_cell) + (size_t)geometry->slot_bytes);
}

static size_t shm_block_bytes(const struct shm_geometry *geometry, int lanes)
{
    return ((size_t)lanes * shm_geometry_bytes(geometry) + PAGE - 1) / PAGE * PAGE;
}

/* What the user fixed; of the rest as much as `channels` of them may have in `room` bytes. */
static enum status shm_geometry_choose(const struct transport_config *config, size_t channels,
                                       size_t room, struct shm_geometry *geometry)
{
    *geometry = shm_wanted;
    if (config->slot_bytes > SHM_SLOT_MOST)
        return fail(STATUS_USAGE, "a slot of the shm transport has at most %zu MiB",
                    SHM_SLOT_MOST >> 20);
    if (config->slot_bytes) {
        size_t lines = (config->slot_bytes + SHM_CACHE_LINE - 1) / SHM_CACHE_LINE;
        geometry->slot_bytes = (uint32_t)(lines * SHM_CACHE_LINE);
    }
    if (config->slots)
        geometry->slots = (uint32_t)config->slots;
    for (bool shrunk = true; shrunk && channels * shm_geometry_bytes(geometry) > room;) {
        if (!config->slots && geometry->slots > 2 * shm_least.slots)
            geometry->slots /= 2;
        else if (!config->slot_bytes && geometry->slot_bytes > 2 * shm_least.slot_bytes)
            geometry->slot_bytes /= 2;
        else if (geometry->lines > shm_least.lines)
            geometry->lines /= 2;
        else if (!config->slots && geometry->slots > shm_least.slots)
            geometry->slots /= 2;
        else if (!config->slot_bytes && geometry->slot_bytes > shm_least.slot_bytes)
            geometry->slot_bytes /= 2;
        else
            shrunk = false;
    }
    return STATUS_OK;
}

static enum status shm_offer(struct shm_endpoint *endpoint, struct shm_peer *peer, int lanes,
                             const struct shm_geometry *geometry)
{
    struct shm_desk *desk = &endpoint->segment->header->desks[peer->rank];
    size_t bytes = shm_block_bytes(geometry, lanes - peer->lanes);
    void *block;
    enum status status = shm_segment_grow(endpoint->segment, bytes, &block, &desk->offset);
    if (status)
        return status;
    endpoint->used += bytes;
    desk->bytes = bytes;
    desk->address = (uintptr_t)block;
    desk->first_lane = (uint32_t)peer->lanes;
    desk->lanes = (uint32_t)(lanes - peer->lanes);
    desk->geometry = *geometry;
    desk->reads = peer->reads;
    atomic_store_explicit(&desk->offered, ++peer->round, memory_order_release);
    return STATUS_OK;
}

static enum status shm_await(const struct shm_endpoint *endpoint, const struct shm_peer *peer,
                             _Atomic uint32_t *word, double deadline)
{
    const struct transport_config *config = &endpoint->base.config;
    for (unsigned turns = 0; atomic_load_explicit(word, memory_order_acquire) < peer->round;) {
        sched_yield();
        if (++turns % 64)
            continue;
        if (config->ended && config->ended(config->ended_argument))
            return fail(STATUS_ERROR, "the job ended while rank %d was being connected",
                        peer->rank);
        enum status status = shm_peer_lost(peer);
        if (status)
            return status;
        if (clock_seconds() > deadline)
            return fail(STATUS_TIMEOUT,
                        "rank %d (pid %ld) did not connect through shared memory within %g s",
                        peer->rank, (long)peer->pid, config->timeout);
    }
    return STATUS_OK;
}

/* The rings of lane `index` of a block. */
static void shm_channel_lay(struct shm_channel *channel, char *block, uint32_t index,
                            const struct shm_geometry *geometry)
{
    char *at = block + index * shm_geometry_bytes(geometry);
    struct shm_ring *lines = &channel->rings[SHM_LINES], *slots = &channel->rings[SHM_SLOTS];
    lines->credit = (_Atomic uint64_t *)(void *)at;
    slots->credit = (_Atomic uint64_t *)(void *)(at + SHM_CACHE_LINE);
    lines->cells = at + 2 * SHM_CACHE_LINE;
    lines->count = geometry->lines;
    lines->stride = sizeof(struct shm_cell);
    lines->payload_at = offsetof(struct shm_cell, data);
    lines->payload = sizeof(((struct shm_cell *)0)->data);
    slots->cells = lines->cells + lines->count * lines->stride;
    slots->count = geometry->slots;
    slots->stride = sizeof(struct shm_cell) + geometry->slot_bytes;
    slots->payload_at = sizeof(struct shm_cell);
    slots->payload = geometry->slot_bytes;
}

static struct shm_channel *shm_channel_create(struct shm_endpoint *endpoint, struct shm_peer *peer,
                                              int lane, bool sends, char *block,
                                              const struct shm_desk *desk)
{
    struct shm_channel *channel = calloc(1, sizeof(*channel));
    struct shm_issue *issues = NULL;
    if (channel && sends)
        issues = calloc(desk->geometry.slots, sizeof(*issues));
    if (!channel || (sends && !issues)) {
        free(channel);
        return NULL;
    }
    channel->base = (struct channel){
        .endpoint = &endpoint->base, .peer = peer->rank, .lane = lane, .sends = sends};
    channel->peer = peer;
    channel->issues = issues;
    shm_channel_lay(channel, block, (uint32_t)lane - desk->first_lane, &desk->geometry);
    return channel;
}

/* Makes the channels of both directions: from the peer in this rank's block, to it in its own. */
static enum status shm_channels_create(struct shm_endpoint *endpoint, struct shm_peer *peer,
                                       const struct shm_desk *const desks[2], char *const blocks[2])
{
    int lanes = peer->lanes + (int)desks[0]->lanes;
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
                                                             blocks[sends], desks[sends]);
            peer->channels[sends][peer->lanes] = channel;
            if (channel)
                continue;
            if (sends)
                free(peer->channels[0][peer->lanes]);
            goto out_of_memory;
        }
    }
    return STATUS_OK;
out_of_memory:
    return fail(STATUS_ERROR, "out of memory for the channels to rank %d", peer->rank);
}

static enum status shm_accept(struct shm_endpoint *endpoint, struct shm_peer *peer)
{
    struct shm_desk *own = &endpoint->segment->header->desks[peer->rank];
    const struct shm_desk *other = &peer->header->desks[endpoint->base.config.rank];
    if (own->lanes != other->lanes || own->first_lane != other->first_lane)
        return fail(STATUS_ERROR, "rank %d asks for other lanes than this rank", peer->rank);
    char *block = (char *)(uintptr_t)other->address;
    if (!peer->same_process) {
        block = mmap(NULL, other->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, peer->fd,
                     (off_t)other->offset);
        if (block == MAP_FAILED)
            return fail(STATUS_ERROR, "cannot map %zu KiB of the shared memory of rank %d: %s",
                        (size_t)other->bytes >> 10, peer->rank, strerror(errno));
        enum status status = shm_mapping_add(&peer->blocks, block, other->bytes);
        if (status) {
            munmap(block, other->bytes);
            return status;
        }
    }
    peer->read = other->reads;
    const struct shm_desk *const desks[2] = {own, other};
    char *const blocks[2] = {(char *)(uintptr_t)own->address, block};
    enum status status = shm_channels_create(endpoint, peer, desks, blocks);
    if (!status)
        atomic_store_explicit(&own->accepted, peer->round, memory_order_release);
    return status;
}

/* Offers to the peers that lack lanes, and keeps those in `lacking`. */
static enum status shm_offer_all(struct shm_endpoint *endpoint, const int *ranks, int count,
                                 int lanes, struct shm_peer **lacking, int *lacking_count)
{
    const struct transport_config *config = &endpoint->base.config;
    size_t channels = 0;
    *lacking_count = 0;
    for (int i = 0; i < count; i++) {
        struct shm_peer *peer = endpoint->peers[ranks[i]];
        if (!peer)
            return fail(STATUS_ERROR, "rank %d was not found in shared memory before it was used",
                        ranks[i]);
        if (peer->lanes >= lanes)
            continue;
        lacking[(*lacking_count)++] = peer;
        channels += (size_t)(lanes - peer->lanes);
    }
    /* Half of what there is, so that later rounds get their share too. */
    size_t room = endpoint->used < endpoint->budget ? (endpoint->budget - endpoint->used) / 2 : 0;
    struct shm_geometry geometry;
    enum status status = shm_geometry_choose(config, channels, room, &geometry);
    for (int i = 0; !status && i < *lacking_count; i++) {
        if (config->copy != COPY_BCOPY)
            status = shm_peer_map_regions(lacking[i]);
        if (!status)
            status = shm_offer(endpoint, lacking[i], lanes, &geometry);
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
    double deadline = clock_seconds() + base->config.timeout;
    enum status status = shm_offer_all(endpoint, ranks, count, lanes, lacking, &lacking_count);
    for (int i = 0; !status && i < lacking_count; i++) {
        struct shm_desk *desk = &lacking[i]->header->desks[base->config.rank];
        status = shm_await(endpoint, lacking[i], &desk->offered, deadline);
        if (!status)
            status = shm_accept(endpoint, lacking[i]);
    }
    for (int i = 0; !status && i < lacking_count; i++) {
        struct shm_desk *desk = &lacking[i]->header->desks[base->config.rank];
        status = shm_await(endpoint, lacking[i], &desk->accepted, deadline);
    }
    free(lacking);
    return status;
}
