/*
 * connect.c - makes the channels of the cuda transport.
 *
 * The lower of two ranks makes the block with their wires, and each lends its regions. One exchange
 * tells the peer of both. A second one tells that all is mapped, so that files can be closed.
 */
#include "transports/cuda/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"

static size_t pull_block_bytes(uint32_t lanes)
{
    return sizeof(struct pull_block) + 2 * (size_t)lanes * sizeof(struct pull_wire);
}

static enum status pull_mapping_add(struct pull_peer *peer, struct pull_block *block, size_t bytes)
{
    struct pull_mapping *mapping = new_array(1, sizeof(*mapping));
    *mapping = (struct pull_mapping){
        .block = block, .bytes = bytes, .is_shared = !peer->same_process, .next = peer->blocks};
    peer->blocks = mapping;
    return STATUS_OK;
}

static struct pull_block *pull_block_map(int fd, size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* Memory that another process can map. NULL: errno says why. */
static struct pull_block *pull_block_share(size_t bytes, int32_t *fd)
{
    *fd = host_create_memory("cctest-cuda");
    if (*fd < 0 || fallocate(*fd, 0, 0, (off_t)bytes))
        return NULL;
    return pull_block_map(*fd, bytes);
}

/* Memory for the threads of this process: each byte of it has one address. It stays until the
 * process ends if the job ends before the peer has found it. */
static struct pull_block *pull_block_own(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* The lower rank makes the block. The parcel says where. */
static enum status pull_block_make(struct pull_peer *peer, struct pull_parcel *parcel)
{
    size_t bytes = pull_block_bytes(parcel->lanes - parcel->first);
    struct pull_block *block =
        peer->same_process ? pull_block_own(bytes) : pull_block_share(bytes, &parcel->fd);
    if (!block)
        return fail(STATUS_ERROR,
                    "cannot allocate %zu KiB of shared memory for channels to rank %d: %s; use "
                    "fewer channels, or another transport (-x)",
                    bytes >> 10, peer->rank, strerror(errno));
    if (getrandom(&block->cookie, sizeof(block->cookie), 0) < 0)
        block->cookie = (uintptr_t)block;
    atomic_store(&block->users, 2);
    parcel->cookie = block->cookie;
    parcel->address = peer->same_process ? (uintptr_t)block : 0;
    return pull_mapping_add(peer, block, bytes);
}

/* The higher rank finds it. What the file is, is checked: the lower rank may have ended. */
static enum status pull_block_find(struct pull_peer *peer, const struct pull_parcel *theirs)
{
    size_t bytes = pull_block_bytes(theirs->lanes - theirs->first);
    struct pull_block *block = (struct pull_block *)(uintptr_t)theirs->address;
    if (!peer->same_process) {
        int fd = host_open_memory(peer->pid, theirs->fd, O_RDWR, bytes);
        block = fd >= 0 ? pull_block_map(fd, bytes) : NULL;
        if (fd >= 0)
            close(fd);
    }
    if (!block || block->cookie != theirs->cookie)
        return fail_peer(REASON_PEER_LOST, peer->rank,
                         "rank %d (pid %ld) has closed its shared memory, or is gone (cuda)",
                         peer->rank, (long)peer->pid);
    return pull_mapping_add(peer, block, bytes);
}

static struct pull_channel *pull_channel_make(struct pull_endpoint *endpoint,
                                              struct pull_peer *peer, int lane, bool sends,
                                              struct pull_wire *wire)
{
    struct pull_channel *channel = new_array(1, sizeof(*channel));
    channel->base = (struct channel){
        .endpoint = &endpoint->base, .peer = peer->rank, .lane = lane, .sends = sends};
    channel->peer = peer;
    channel->wire = wire;
    if (sends)
        return channel;
    channel->steps = new_array(PULL_STEPS, sizeof(*channel->steps));
    return channel;
}

/* Channels for the lanes of the newest block. */
static void pull_channels_make(struct pull_endpoint *endpoint, struct pull_peer *peer, int lanes)
{
    bool is_lower = endpoint->base.config.rank < peer->rank;
    int first = peer->lanes, received = first;
    for (int lane = first; lane < lanes; lane++) {
        struct pull_wire *wires = &peer->blocks->block->wires[2 * (lane - first)];
        *LIST_ADD(peer->channels[false], received) =
            pull_channel_make(endpoint, peer, lane, false, &wires[is_lower]);
        *LIST_ADD(peer->channels[true], peer->lanes) =
            pull_channel_make(endpoint, peer, lane, true, &wires[!is_lower]);
    }
}

/* Fills the parcel for a peer. */
static enum status pull_offer(struct pull_endpoint *endpoint, struct pull_peer *peer, int lanes,
                              struct pull_parcel *parcel)
{
    parcel->first = (uint32_t)peer->lanes;
    parcel->lanes = (uint32_t)(lanes > peer->lanes ? lanes : peer->lanes);
    memcpy(parcel->regions, endpoint->handles, sizeof(parcel->regions));
    if (endpoint->base.config.rank > peer->rank || parcel->first == parcel->lanes)
        return STATUS_OK;
    return pull_block_make(peer, parcel);
}

static enum status pull_accept(struct pull_endpoint *endpoint, struct pull_peer *peer,
                               const struct pull_parcel *mine, const struct pull_parcel *theirs)
{
    if (theirs->first != mine->first || theirs->lanes != mine->lanes)
        return fail(STATUS_ERROR, "rank %d connects lanes %u to %u, not %u to %u (cuda)",
                    peer->rank, theirs->first, theirs->lanes, mine->first, mine->lanes);
    TRY(pull_peer_map(endpoint, peer, theirs->regions));
    if (mine->first == mine->lanes)
        return STATUS_OK;
    if (endpoint->base.config.rank > peer->rank)
        TRY(pull_block_find(peer, theirs));
    pull_channels_make(endpoint, peer, (int)mine->lanes);
    return STATUS_OK;
}

static enum status pull_exchange(const struct pull_endpoint *endpoint, const int *ranks, int count,
                                 const void *mine, size_t each, void *theirs)
{
    const struct peer_exchange *exchange = endpoint->base.config.exchange;
    return exchange->call(exchange->argument, ranks, count, mine, each, theirs);
}

enum status pull_connect(struct endpoint *base, const int *ranks, int count, int lanes)
{
    struct pull_endpoint *endpoint = (struct pull_endpoint *)base;
    size_t room = (size_t)count + 1;
    struct pull_parcel *mine = new_array(room, sizeof(*mine)),
                       *theirs = new_array(room, sizeof(*theirs));
    char *mapped = new_array(room, 2);
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++)
        mine[i].fd = -1;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = pull_offer(endpoint, endpoint->peers[ranks[i]], lanes, &mine[i]);
    if (status == STATUS_OK)
        status = pull_exchange(endpoint, ranks, count, mine, sizeof(*mine), theirs);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        status = pull_accept(endpoint, endpoint->peers[ranks[i]], &mine[i], &theirs[i]);
        tick_on(base->config.tick);
    }
    if (status == STATUS_OK)
        status = pull_exchange(endpoint, ranks, count, mapped, 1, mapped + room);
    for (int i = 0; i < count && mine; i++)
        if (mine[i].fd >= 0)
            close(mine[i].fd);
    free(mine);
    free(theirs);
    free(mapped);
    return status;
}
