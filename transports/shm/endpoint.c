/*
 * endpoint.c - the shm transport: links between ranks of one node through shared memory.
 *
 * Each rank owns a memfd that its peers map and write into; internal.h has its format.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "transports/shm/internal.h"
#include "transports/transports.h"

/* The most that all segments of a node take, and one of them, unless the user sets the size of
 * slots. Rings do not shrink below a least size, so the sum may grow to 256 MiB. */
#define NODE_BYTES    ((size_t)192 << 20)
#define SEGMENT_BYTES ((size_t)32 << 20)

static const char *shm_unavailable(void)
{
    return access("/proc/self/fd", X_OK) ? "/proc is not mounted" : NULL;
}

static void shm_endpoint_free(struct shm_endpoint *endpoint)
{
    if (endpoint->segment)
        shm_segment_drop(endpoint->segment);
    free(endpoint->bounce);
    free(endpoint->peers);
    free(endpoint->cookie);
    free(endpoint);
}

static void shm_endpoint_size(struct shm_endpoint *endpoint)
{
    const struct transport_config *config = &endpoint->base.config;
    size_t local = config->local_ranks > 1 ? (size_t)config->local_ranks : 2;
    size_t share = NODE_BYTES / local;
    endpoint->budget = share < SEGMENT_BYTES ? share : SEGMENT_BYTES;
}

static enum status shm_open(const struct transport_config *config, struct endpoint **opened,
                            char *reason)
{
    (void)reason;
    struct shm_endpoint *endpoint = new_array(1, sizeof(*endpoint));
    endpoint->base.transport = &transport_shm;
    endpoint->base.config = *config;
    endpoint->peers = new_array((size_t)config->ranks, sizeof(struct shm_peer *));
    endpoint->bounce = aligned_alloc(SHM_CACHE_LINE, SHM_BOUNCE_ROOM);
    endpoint->cookie = new_array(1, sizeof(*endpoint->cookie));
    enum status status = STATUS_OK;
    if (!endpoint->bounce)
        status = fail(STATUS_ERROR, "out of memory for the shm transport");
    else if (getrandom(endpoint->cookie, sizeof(*endpoint->cookie), 0) < 0)
        status = fail(STATUS_ERROR, "cannot get random numbers: %s", strerror(errno));
    else
        status = shm_segment_create(config->ranks, *endpoint->cookie, &endpoint->segment);
    if (status) {
        shm_endpoint_free(endpoint);
        return status;
    }
    shm_endpoint_size(endpoint);
    for (int sends = 0; sends < 2; sends++)
        endpoint->active[sends].end = &endpoint->active[sends].first;
    endpoint->used = endpoint->segment->header_bytes;
    shm_address_fill(endpoint);
    /* If the kernel's yama is active, this allows the peers to read this process. Else it fails,
     * and is not needed. */
    if (shm_refers(config->copy))
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    *opened = &endpoint->base;
    return STATUS_OK;
}

static size_t shm_address(struct endpoint *base, void *blob)
{
    const struct shm_endpoint *endpoint = (const struct shm_endpoint *)base;
    memcpy(blob, &endpoint->address, sizeof(endpoint->address));
    return sizeof(endpoint->address);
}

static const char *shm_attach(struct endpoint *base, int rank, const void *blob, size_t size)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    struct shm_address address;
    if (size != sizeof(address))
        return "its address is invalid";
    memcpy(&address, blob, sizeof(address));
    if (endpoint->peers[rank])
        return NULL;
    return shm_peer_attach(endpoint, rank, &address, &endpoint->peers[rank]);
}

static struct channel *shm_channel(struct endpoint *base, int rank, int lane, bool sends)
{
    const struct shm_endpoint *endpoint = (const struct shm_endpoint *)base;
    const struct shm_peer *peer = endpoint->peers[rank];
    return peer && lane < peer->lanes ? &peer->channels[sends][lane]->base : NULL;
}

static const char *shm_describe(const struct endpoint *base, int rank, uint64_t *ns)
{
    const struct shm_peer *peer = ((const struct shm_endpoint *)base)->peers[rank];
    *ns = peer->line_ns;
    switch (peer->distance) {
    case SHM_CORELESS:
        return "cores shared, so taken as far";
    case SHM_FAR:
        return "cores taken as far";
    case SHM_NEAR:
        return "cores taken as near";
    default:
        return "not bound to cores, so taken as near";
    }
}

static void shm_activate(struct channel *base)
{
    struct shm_channel *channel = (struct shm_channel *)base;
    if (channel->is_active)
        return;
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base->endpoint;
    struct shm_active *active = &endpoint->active[base->sends];
    channel->is_active = true;
    channel->next_active = NULL;
    *active->end = channel;
    active->end = &channel->next_active;
}

/* The link to the next channel of the list. Takes the channel at `link` off if it is idle. */
static struct shm_channel **shm_active_next(struct shm_active *active, struct shm_channel **link)
{
    struct shm_channel *channel = *link;
    if (!shm_channel_is_idle(channel))
        return &channel->next_active;
    channel->is_active = false;
    *link = channel->next_active;
    if (!*link)
        active->end = link;
    return link;
}

static enum status shm_progress_active(struct shm_active *active)
{
    for (struct shm_channel **link = &active->first, *channel; (channel = *link);) {
        enum status status = shm_channel_progress(channel);
        if (status)
            return status;
        link = shm_active_next(active, link);
    }
    return STATUS_OK;
}

/* Sends first, since peers wait for it, and to receive may take long. */
static enum status shm_progress(struct endpoint *base)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    enum status status = shm_progress_active(&endpoint->active[true]);
    return status ? status : shm_progress_active(&endpoint->active[false]);
}

static enum status shm_check(struct endpoint *base)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    enum status status = STATUS_OK;
    endpoint->check++;
    for (int sends = 0; sends < 2; sends++) {
        struct shm_active *active = &endpoint->active[sends];
        for (struct shm_channel **link = &active->first, *channel; (channel = *link);) {
            struct shm_peer *peer = channel->peer;
            if (!status && peer->check != endpoint->check)
                status = shm_peer_check(peer);
            peer->check = endpoint->check;
            link = shm_active_next(active, link); /* eager_await() holds until here */
        }
    }
    return status;
}

/* The memory of this rank may go away when this returns. Ranks of other processes keep their
 * mappings. Ranks of this process see `closed`; this one waits while one of them reads its
 * memory. */
static void shm_close(struct endpoint *base)
{
    struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    if (!endpoint)
        return;
    uint32_t reading_this = (uint32_t)base->config.rank + 1;
    atomic_store(&endpoint->segment->header->closed, SHM_CLOSED);
    for (int rank = 0; rank < base->config.ranks; rank++) {
        struct shm_peer *peer = endpoint->peers[rank];
        if (!peer)
            continue;
        while (peer->same_process && atomic_load(&peer->segment->reading) == reading_this)
            sched_yield();
        shm_disconnect(peer);
        shm_peer_drop(peer);
    }
    shm_endpoint_free(endpoint);
}

/* For a debugger, whose watchpoint shows what writes there. */
static void shm_channel_say(const struct shm_channel *channel)
{
    static const char *const names[SHM_RINGS] = {"lines", "short slots", "long slots", "words"};
    char places[300];
    struct text text = text_in(places, sizeof places);
    for (int kind = 0; kind < SHM_RINGS; kind++) {
        const struct shm_ring *ring = &channel->rings[kind];
        if (ring->count > 0)
            text_add(&text, "%s%s at %p (%u x %zu bytes)", text.used ? ", " : "", names[kind],
                     (void *)ring->cells, ring->count, ring->stride);
    }
    say_verbose(2, "shm: process %ld receives from rank %d on lane %d in %s", (long)getpid(),
                channel->peer->rank, channel->base.lane, places);
}

static enum status shm_connect_and_say(struct endpoint *base, const int *peers, int count,
                                       int lanes)
{
    const struct shm_endpoint *endpoint = (struct shm_endpoint *)base;
    enum status status = shm_connect(base, peers, count, lanes);
    for (int i = 0; i < count && !status; i++)
        for (int lane = 0; lane < endpoint->peers[peers[i]]->lanes; lane++)
            shm_channel_say(endpoint->peers[peers[i]]->channels[false][lane]);
    return status;
}

/* A message that a slot holds whole may go without being posted (eager.c), so it costs less. */
static const struct path_range shm_path_ranges[] = {
    {PATH_LINE, 0, SHM_LINE_BYTES, COPY_AUTO, MOVEMENT_PUSH, false, true},
    {PATH_BCOPY, 0, SHM_SHORT_BYTES, COPY_BCOPY, MOVEMENT_PUSH, false, true},
    {PATH_BCOPY, SHM_SHORT_BYTES + 1, 0, COPY_BCOPY, MOVEMENT_PUSH, false, false},
    {PATH_ZCOPY, 0, 0, COPY_ZCOPY, MOVEMENT_PULL, true, false},
    {PATH_LL, 0, SHM_SHORT_BYTES, COPY_LL, MOVEMENT_PUSH, false, true},
    {PATH_LL, SHM_SHORT_BYTES + 1, 0, COPY_LL, MOVEMENT_PUSH, false, false},
};

const struct transport transport_shm = {
    .name = "shm",
    .summary = "ranks of one node, through shared memory",
    .local = true,
    .unavailable = shm_unavailable,
    .open = shm_open,
    .address = shm_address,
    .attach = shm_attach,
    .connect = shm_connect_and_say,
    .channel = shm_channel,
    .path_ranges = shm_path_ranges,
    .path_range_count = sizeof shm_path_ranges / sizeof *shm_path_ranges,
    .path_of = shm_path_of,
    .describe = shm_describe,
    .activate = shm_activate,
    .eager_most = shm_eager_most,
    .eager_move = shm_eager_move,
    .eager_await = shm_activate, /* its peer is that of an active channel, until check() */
    .progress = shm_progress,
    .check = shm_check,
    .close = shm_close,
};
