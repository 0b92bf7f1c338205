/*
 * endpoint.c - the verbs transport: RDMA NICs (InfiniBand, RoCE, iWARP) by libibverbs.
 *
 * Ranks are forked before any call of the library and never fork again, so ibv_fork_init() is not
 * needed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "transports/transports.h"
#include "transports/verbs/internal.h"
#include "transports/verbs/library.h"

static bool verbs_present(void)
{
    return ports_present(PORT_SYSFS);
}

static const char *verbs_unavailable(void)
{
    const char *why = verbs_library_load();
    if (why)
        return why;
    int count = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);
    if (devices)
        ibv_free_device_list(devices);
    /* Devices that no process here may open are refused in open(), which is always reported. */
    return count > 0 || verbs_present() ? NULL : VERBS_NO_DEVICE;
}

static enum status mtu_check(const struct verbs_endpoint *endpoint, char *reason)
{
    const struct transport_setting *mtu = &endpoint->settings[VERBS_MTU];
    for (int i = 0; mtu->given && i < endpoint->rail_count; i++) {
        const struct verbs_port *port = &endpoint->rails[i].port;
        if (verbs_mtu_asked(endpoint->settings, IBV_MTU_256) <= (enum ibv_mtu)port->mtu)
            continue;
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "mtu=%d is more than the MTU of %d bytes that NIC %s has: choose a smaller one",
                 verbs_mtu_bytes(verbs_mtu_asked(endpoint->settings, IBV_MTU_256)),
                 verbs_mtu_bytes(port->mtu), port->name);
        return STATUS_UNAVAILABLE;
    }
    return STATUS_OK;
}

static enum status qps_check(const struct verbs_endpoint *endpoint, char *reason)
{
    const struct transport_setting *qps = &endpoint->settings[VERBS_QPS];
    int most = VERBS_PATHS_MOST / endpoint->rail_count;
    if (!qps->given || endpoint->matches || qps->number <= most)
        return STATUS_OK;
    snprintf(
        reason, TRANSPORT_REASON_MOST,
        "qps=%ld on each of %d NIC ports is more than the %d queue pairs that a lane may have: "
        "choose qps=%d, or fewer NIC ports",
        qps->number, endpoint->rail_count, VERBS_PATHS_MOST, most);
    return STATUS_UNAVAILABLE;
}

static void verbs_close(struct endpoint *base);

static enum status endpoint_open(struct verbs_endpoint *endpoint, char *reason)
{
    const struct transport_config *config = &endpoint->base.config;
    for (int i = 0; config->settings && i < VERBS_OPTIONS; i++)
        endpoint->settings[i] = config->settings[i];
    endpoint->matches =
        endpoint->settings[VERBS_RAILS].given && endpoint->settings[VERBS_RAILS].number == 1;
    endpoint->peers = new_array((size_t)config->ranks, sizeof *endpoint->peers);
    endpoint->flushed = new_array((size_t)config->region_count + 1, sizeof *endpoint->flushed);
    for (int rank = 0; rank < config->ranks; rank++)
        endpoint->peers[rank].rank = rank;
    if (getrandom(&endpoint->address.nonce, sizeof endpoint->address.nonce, 0) < 0)
        return fail(STATUS_ERROR, "cannot get random numbers: %s", strerror(errno));
    gethostname(endpoint->address.host, sizeof endpoint->address.host - 1);
    if (!verbs_patience_choose(endpoint->settings, config->timeout, &endpoint->patience, reason))
        return STATUS_UNAVAILABLE;
    TRY(verbs_nics_open(endpoint, reason));
    TRY(mtu_check(endpoint, reason));
    TRY(qps_check(endpoint, reason));
    if (verbs_refuse_memory(endpoint, reason))
        return STATUS_UNAVAILABLE;
    TRY(verbs_gdr_choose(endpoint, reason));
    return verbs_cm_open(endpoint, reason);
}

static enum status verbs_open(const struct transport_config *config, struct endpoint **opened,
                              char *reason)
{
    struct verbs_endpoint *endpoint = new_array(1, sizeof *endpoint);
    endpoint->base.transport = &transport_verbs;
    endpoint->base.config = *config;
    enum status status = endpoint_open(endpoint, reason);
    if (status != STATUS_OK)
        verbs_close(&endpoint->base);
    else
        *opened = &endpoint->base;
    return status;
}

static size_t verbs_address(struct endpoint *base, void *blob)
{
    struct verbs_endpoint *endpoint = (struct verbs_endpoint *)base;
    endpoint->address.rail_count = endpoint->rail_count;
    endpoint->address.direct = verbs_is_direct(endpoint);
    for (int i = 0; i < endpoint->rail_count; i++)
        endpoint->address.ports[i] = endpoint->rails[i].port;
    return verbs_address_encode(&endpoint->address, blob);
}

/* Paths go round the rails of both ends together. Where both have as many, each pair must meet;
 * else one end has left a NIC out, and the pairs that meet remain. Both ends find the same ones. */
static const char *rails_pair(struct verbs_endpoint *endpoint, struct verbs_peer *peer)
{
    int own = endpoint->rail_count, theirs = peer->address.rail_count;
    int all = own / (int)common_divisor(own, theirs) * theirs;
    char first[TRANSPORT_REASON_MOST] = "";
    peer->rail_pair_count = 0;
    for (int n = 0; n < all; n++) {
        const char *why =
            verbs_port_compare(&endpoint->rails[n % own], &peer->address.ports[n % theirs],
                               peer->address.host, endpoint->settings, endpoint->reason);
        if (!why)
            peer->rail_pairs[peer->rail_pair_count++] = (uint8_t)n;
        else if (own == theirs)
            return why;
        else if (!first[0])
            snprintf(first, sizeof first, "%s", why);
    }
    if (peer->rail_pair_count > 0)
        return NULL;
    snprintf(endpoint->reason, sizeof endpoint->reason, "%s", first);
    return endpoint->reason;
}

static const char *verbs_attach(struct endpoint *base, int rank, const void *blob, size_t size)
{
    struct verbs_endpoint *endpoint = (struct verbs_endpoint *)base;
    struct verbs_peer *peer = &endpoint->peers[rank];
    const char *why = NULL;
    if (base->config.copy == COPY_LL)
        return "it has no memory that both ranks share, which --copy ll needs; use -x shm, or "
               "another --copy";
    if (!verbs_address_decode(blob, size, &peer->address))
        return "its address is invalid: check that all ranks run the same version of cctest";
    if (endpoint->matches && peer->address.rail_count != endpoint->rail_count)
        return "rails=match needs as many NIC ports on both hosts: name them with nic=";
    for (int k = 0; !why && k < peer->address.rail_count; k++)
        if (endpoint->cm && !peer->address.ports[k].cm_port)
            why = "the other rank does not listen for connections: give all the same connect=";
    return why ? why : rails_pair(endpoint, peer);
}

/* All are connected. Every rank would say much the same, so rank 0 does at -v, all do at -vv. */
static void verbs_settle(struct endpoint *base)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)base;
    size_t queues = 0;
    verbs_cm_settle((struct verbs_endpoint *)base);
    for (int i = 0; i < endpoint->rail_count; i++)
        queues += verbs_rail_queue_bytes(&endpoint->rails[i]);
    say_verbose(base->config.rank == 0 ? 1 : 2,
                "verbs: %d queue pair%s on %d NIC port%s, about %zu KiB of queues, %zu KiB "
                "registered; to register took %.1f ms, to connect in all %.1f ms",
                endpoint->pair_count, plural(endpoint->pair_count), endpoint->rail_count,
                plural(endpoint->rail_count), queues / 1024, endpoint->pinned / 1024,
                (double)endpoint->registering_ns / 1e6, (double)endpoint->connecting_ns / 1e6);
}

static struct channel *verbs_channel(struct endpoint *base, int rank, int lane, bool sends)
{
    const struct verbs_peer *peer = &((const struct verbs_endpoint *)base)->peers[rank];
    if (lane >= peer->lane_count)
        return NULL;
    return sends ? &peer->lanes[lane]->out.base : &peer->lanes[lane]->in.base;
}

static const char *verbs_describe(const struct endpoint *base, int rank, uint64_t *ns)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)base;
    const struct verbs_lane *lane = endpoint->peers[rank].lanes[0];
    const struct verbs_port *port = &lane->pairs[0].rail->port;
    *ns = 0;
    if (port->iwarp)
        return "iWARP";
    bool ethernet = port->link_layer == IBV_LINK_LAYER_ETHERNET;
    if (!lane->in.polls)
        return ethernet ? "RoCE, slots polled by completions"
                        : "InfiniBand, slots polled by completions";
    if (verbs_pair_keeps_order(&lane->pairs[0]))
        return ethernet ? "RoCE, slots polled in memory" : "InfiniBand, slots polled in memory";
    return ethernet ? "RoCE, slots polled in memory, whose order this NIC does not promise"
                    : "InfiniBand, slots polled in memory, whose order this NIC does not promise";
}

static bool *active_flag(struct channel *channel)
{
    return channel->sends ? &((struct verbs_sender *)channel)->active
                          : &((struct verbs_receiver *)channel)->active;
}

static void verbs_activate(struct channel *base)
{
    struct verbs_endpoint *endpoint = (struct verbs_endpoint *)base->endpoint;
    if (*active_flag(base))
        return;
    *active_flag(base) = true;
    endpoint->active[endpoint->active_count++] = base;
}

/* Takes idle channels off the list. */
static void active_sweep(struct verbs_endpoint *endpoint)
{
    int kept = 0;
    for (int i = 0; i < endpoint->active_count; i++) {
        struct channel *channel = endpoint->active[i];
        *active_flag(channel) = channel->first != NULL;
        if (channel->first)
            endpoint->active[kept++] = channel;
    }
    endpoint->active_count = kept;
}

static enum status channel_progress(struct channel *channel)
{
    struct profile *profile = channel->first ? channel->first->profile : NULL;
    enum status status = channel->sends ? verbs_send_progress((struct verbs_sender *)channel)
                                        : verbs_receive_progress((struct verbs_receiver *)channel);
    profile_leave(profile);
    return status;
}

static enum status verbs_progress(struct endpoint *base)
{
    struct verbs_endpoint *endpoint = (struct verbs_endpoint *)base;
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < endpoint->rail_count; i++)
        if (endpoint->rails[i].cq)
            status = verbs_rail_poll(&endpoint->rails[i]);
    for (int i = 0; status == STATUS_OK && i < endpoint->active_count; i++)
        status = channel_progress(endpoint->active[i]);
    active_sweep(endpoint);
    return status;
}

/* A queue pair does not notice that its peer has died before it has sent in vain for long. */
static enum status peer_check(const struct verbs_endpoint *endpoint, int rank)
{
    const struct verbs_peer *peer = &endpoint->peers[rank];
    if (peer_is_lost(endpoint->base.config.exchange, rank))
        return fail_peer(REASON_PEER_LOST, rank,
                         "rank %d on %s died or left the job, says the control plane (verbs)", rank,
                         peer->address.host);
    for (const struct verbs_pair *pair = NULL; (pair = verbs_peer_next(peer, pair));)
        if (pair->flushed && !pair->broken)
            return fail_peer(REASON_PEER_LOST, rank,
                             "the queue pair of NIC %s to rank %d on %s was shut down without an "
                             "error of its own: see what that rank or its host says",
                             pair->rail->port.name, rank, peer->address.host);
    return STATUS_OK;
}

static enum status idle_lanes_return_credits(const struct verbs_endpoint *endpoint)
{
    enum status status = STATUS_OK;
    for (int rank = 0; rank < endpoint->base.config.ranks; rank++)
        for (int lane = 0; status == STATUS_OK && lane < endpoint->peers[rank].lane_count; lane++)
            status = verbs_credits_return_rest(&endpoint->peers[rank].lanes[lane]->in);
    return status;
}

/* Polls, too: a rank that waits in eager_move() looks at slots only, and would not see that a
 * request has failed. */
static enum status verbs_check(struct endpoint *base)
{
    struct verbs_endpoint *endpoint = (struct verbs_endpoint *)base;
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < endpoint->rail_count; i++) {
        if (endpoint->rails[i].cq)
            status = verbs_rail_poll(&endpoint->rails[i]);
        if (status == STATUS_OK)
            status = verbs_rail_check(&endpoint->rails[i]);
    }
    for (int i = 0; status == STATUS_OK && i < endpoint->active_count; i++)
        status = peer_check(endpoint, endpoint->active[i]->peer);
    if (status == STATUS_OK)
        status = idle_lanes_return_credits(endpoint);
    verbs_stalls_note(endpoint);
    active_sweep(endpoint); /* eager_await() holds until here */
    return status;
}

/* Might an abandoned thread still register this arena? Then its pages stay mapped. */
static bool arena_is_abandoned(const struct verbs_endpoint *endpoint,
                               const struct verbs_arena *arena)
{
    for (int i = 0; i < endpoint->rail_count; i++)
        if (endpoint->rails[i].is_abandoned && !arena->mrs[i])
            return true;
    return false;
}

static void arenas_free(struct verbs_endpoint *endpoint)
{
    for (struct verbs_arena *arena = endpoint->arenas, *next; arena; arena = next) {
        next = arena->next;
        bool stays = arena_is_abandoned(endpoint, arena);
        for (int i = 0; i < endpoint->rail_count; i++)
            if (arena->mrs[i]) {
                ibv_dereg_mr(arena->mrs[i]);
                tick_on(endpoint->base.config.tick);
            }
        if (!stays)
            munmap(arena->base, arena->bytes);
        free(arena);
    }
}

/* The device, the domain and the memory stay if a thread that still registers memory uses them. To
 * free takes long where there is much: it ticks behind each call of the library, and goes on even
 * if the job has ended. */
static void verbs_close(struct endpoint *base)
{
    struct verbs_endpoint *endpoint = (struct verbs_endpoint *)base;
    if (!endpoint)
        return;
    for (int rank = 0; endpoint->peers && rank < base->config.ranks; rank++)
        verbs_disconnect(&endpoint->peers[rank]);
    arenas_free(endpoint);
    verbs_cm_close(endpoint);
    for (int i = 0; i < endpoint->rail_count; i++)
        verbs_rail_close(&endpoint->rails[i]);
    free(endpoint->peers);
    free(endpoint->active);
    free(endpoint->flushed);
    free(endpoint);
}

/* The contents of a slot move whole, but its size is an option. */
static const struct path_range verbs_path_ranges[] = {
    {PATH_BCOPY, 0, 0, COPY_BCOPY, MOVEMENT_PUSH, false, false},
    {PATH_ZCOPY, 0, 0, COPY_ZCOPY, MOVEMENT_GRANT, true, false},
};

const struct transport transport_verbs = {
    .name = "verbs",
    .summary = "RDMA NICs: InfiniBand, RoCE, iWARP",
    .options = verbs_options,
    .accepts = verbs_accepts,
    .exchanges = 2,
    .unavailable = verbs_unavailable,
    .present = verbs_present,
    .open = verbs_open,
    .reaches = verbs_reaches,
    .address = verbs_address,
    .attach = verbs_attach,
    .connect = verbs_connect,
    .settle = verbs_settle,
    .path_ranges = verbs_path_ranges,
    .path_range_count = sizeof verbs_path_ranges / sizeof *verbs_path_ranges,
    .channel = verbs_channel,
    .describe = verbs_describe,
    .wait_stats = verbs_wait_stats,
    .activate = verbs_activate,
    .eager_most = verbs_eager_most,
    .eager_move = verbs_eager_move,
    .eager_await = verbs_activate, /* its peer is that of an active channel, until check() */
    .progress = verbs_progress,
    .check = verbs_check,
    .idle_report = verbs_idle_report,
    .devices = verbs_devices,
    .endpoint_devices = verbs_endpoint_devices,
    .device_meter = verbs_device_meter,
    .device_sent = verbs_device_sent,
    .close = verbs_close,
};
