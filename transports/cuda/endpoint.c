/*
 * endpoint.c - the cuda transport: links between ranks of a host whose GPUs map each other's
 * memory. cuda.h has its protocol.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "transports/cuda/internal.h"
#include "transports/transports.h"

#define DRAIN_SECONDS 1.0 /* at a bad end: what GPUs have begun is done by then, or hangs */
#define DRAIN_NAP_NS                                                                               \
    100000 /* between two looks: threads of the driver may need the core, or a lock */

static bool pull_carries(const struct memory_kind *kind)
{
    return !kind->host_reads;
}

static const char *pull_unavailable(void)
{
    return memory_cuda.unavailable();
}

/* The kind of the first region that can be lent; NULL: there is none. */
static const struct memory_kind *pull_kind(const struct transport_config *config)
{
    for (int i = 0; i < config->region_count; i++)
        if (config->regions[i].kind->lend)
            return config->regions[i].kind;
    return NULL;
}

static void pull_endpoint_free(struct pull_endpoint *endpoint)
{
    if (endpoint->engine)
        endpoint->kind->engine_close(endpoint->engine);
    free(endpoint->peers);
    free(endpoint);
}

static enum status pull_open_endpoint(const struct transport_config *config,
                                      struct endpoint **opened, char *reason)
{
    const struct memory_kind *kind = pull_kind(config);
    if (!kind) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "it moves memory of GPUs, and this job has none: add --memory cuda");
        return STATUS_UNAVAILABLE;
    }
    struct pull_endpoint *endpoint = new_array(1, sizeof(*endpoint));
    endpoint->base.transport = &transport_cuda;
    endpoint->base.config = *config;
    endpoint->kind = kind;
    for (int sends = 0; sends < 2; sends++)
        endpoint->active[sends].end = &endpoint->active[sends].first;
    endpoint->peers = new_array((size_t)config->ranks, sizeof(struct pull_peer *));
    enum status status = pull_address_fill(endpoint);
    if (status == STATUS_OK)
        status = kind->engine_open(ENGINE_MOVES, config->tick, &endpoint->engine);
    if (status != STATUS_OK) {
        pull_endpoint_free(endpoint);
        return status;
    }
    *opened = &endpoint->base;
    return STATUS_OK;
}

static bool pull_reaches(const struct endpoint *base, const struct memory_kind *kind, char *reason)
{
    const struct pull_endpoint *endpoint = (const struct pull_endpoint *)base;
    if (kind != endpoint->kind)
        snprintf(reason, TRANSPORT_REASON_MOST, "it does not reach %s memory", kind->name);
    return kind == endpoint->kind;
}

static size_t pull_address(struct endpoint *base, void *blob)
{
    const struct pull_endpoint *endpoint = (const struct pull_endpoint *)base;
    memcpy(blob, &endpoint->address, sizeof(endpoint->address));
    return sizeof(endpoint->address);
}

static const char *pull_attach(struct endpoint *base, int rank, const void *blob, size_t size)
{
    struct pull_endpoint *endpoint = (struct pull_endpoint *)base;
    struct pull_address address;
    if (size != sizeof(address))
        return "its address is invalid";
    memcpy(&address, blob, sizeof(address));
    endpoint->reason[0] = '\0';
    if (endpoint->peers[rank])
        return NULL;
    return pull_peer_attach(endpoint, rank, &address, &endpoint->peers[rank]);
}

static struct channel *pull_channel(struct endpoint *base, int rank, int lane, bool sends)
{
    const struct pull_peer *peer = ((const struct pull_endpoint *)base)->peers[rank];
    return peer && lane < peer->lanes ? &peer->channels[sends][lane]->base : NULL;
}

static const char *pull_describe(const struct endpoint *base, int rank, uint64_t *ns)
{
    const struct pull_peer *peer = ((const struct pull_endpoint *)base)->peers[rank];
    *ns = 0;
    return peer->mapped > 0 ? peer->regions[0].words : "";
}

static void pull_activate(struct channel *base)
{
    struct pull_channel *channel = (struct pull_channel *)base;
    struct pull_endpoint *endpoint = (struct pull_endpoint *)base->endpoint;
    struct pull_active *active = &endpoint->active[base->sends];
    if (!channel->next)
        channel->next = base->last;
    if (channel->is_active)
        return;
    channel->is_active = true;
    channel->next_active = NULL;
    *active->end = channel;
    active->end = &channel->next_active;
}

/* Takes the channels off the list that have nothing posted. */
static void pull_active_sweep(struct pull_active *active)
{
    for (struct pull_channel **link = &active->first, *channel; (channel = *link);) {
        if (channel->base.first) {
            link = &channel->next_active;
            continue;
        }
        channel->is_active = false;
        *link = channel->next_active;
        if (!*link)
            active->end = link;
    }
}

static enum status pull_each(const struct pull_active *active,
                             enum status (*move)(struct pull_channel *channel))
{
    enum status status = STATUS_OK;
    for (struct pull_channel *channel = active->first; channel && status == STATUS_OK;
         channel = channel->next_active)
        status = move(channel);
    return status;
}

static enum status pull_engine_progress(struct pull_endpoint *endpoint)
{
    enum status status = endpoint->kind->engine_progress(endpoint->engine);
    while (moved_take(&endpoint->moved))
        continue;
    return status;
}

/* Sends first, since peers wait for it. */
static enum status pull_progress(struct endpoint *base)
{
    struct pull_endpoint *endpoint = (struct pull_endpoint *)base;
    const struct pull_active *receiving = &endpoint->active[false];
    enum status status = pull_each(&endpoint->active[true], pull_channel_send);
    if (status == STATUS_OK)
        status = pull_each(receiving, pull_channel_begin);
    if (status == STATUS_OK && endpoint->steps > 0)
        status = pull_engine_progress(endpoint);
    for (struct pull_channel *channel = receiving->first; channel && status == STATUS_OK;
         channel = channel->next_active)
        pull_channel_end(channel);
    for (int sends = 0; sends < 2; sends++)
        pull_active_sweep(&endpoint->active[sends]);
    return status;
}

/* A peer that has died publishes nothing more, and its memory may be gone: the control plane
 * knows. */
static enum status pull_check_channel(struct pull_channel *channel)
{
    if (!peer_is_lost(channel->base.endpoint->config.exchange, channel->base.peer))
        return STATUS_OK;
    return fail_peer(REASON_PEER_LOST, channel->base.peer,
                     "rank %d (pid %ld) died or left the job, says the control plane (cuda)",
                     channel->base.peer, (long)channel->peer->pid);
}

static enum status pull_check(struct endpoint *base)
{
    const struct pull_endpoint *endpoint = (const struct pull_endpoint *)base;
    TRY(pull_each(&endpoint->active[true], pull_check_channel));
    return pull_each(&endpoint->active[false], pull_check_channel);
}

/* Keeps the engine from beginning more. Has it begun what is not done? */
static bool pull_is_reading(const struct pull_endpoint *endpoint)
{
    bool reads = false;
    for (const struct pull_channel *channel = endpoint->active[false].first; channel;
         channel = channel->next_active)
        for (unsigned i = channel->ended; i != channel->begun; i++) {
            struct transfer *work = &channel->steps[i % PULL_STEPS].work;
            work->limit = work->issued;
            reads |= work->done < work->issued;
        }
    return reads;
}

/* Waits until the engine reads nothing of the peers any more. False: it hangs, or has failed. */
static bool pull_drain(struct pull_endpoint *endpoint)
{
    double end = clock_seconds() + DRAIN_SECONDS;
    bool reads;
    while ((reads = pull_is_reading(endpoint)) && clock_seconds() < end) {
        if (pull_engine_progress(endpoint) != STATUS_OK)
            return false;
        tick_on(endpoint->base.config.tick);
        nanosleep(&(struct timespec){.tv_nsec = DRAIN_NAP_NS}, NULL);
    }
    return !reads;
}

static void pull_close(struct endpoint *base)
{
    struct pull_endpoint *endpoint = (struct pull_endpoint *)base;
    if (!endpoint)
        return;
    bool unmaps = pull_drain(endpoint);
    if (endpoint->engine)
        endpoint->kind->engine_close(endpoint->engine);
    endpoint->engine = NULL;
    for (int rank = 0; rank < base->config.ranks; rank++)
        pull_peer_drop(endpoint, endpoint->peers[rank], unmaps);
    pull_endpoint_free(endpoint);
}

static void pull_idle_report(const struct endpoint *base, struct idle_report *idle)
{
    const struct pull_endpoint *endpoint = (const struct pull_endpoint *)base;
    if (endpoint->engine && endpoint->kind->engine_busy)
        idle->busy |= endpoint->kind->engine_busy(endpoint->engine);
}

const struct transport transport_cuda = {
    .name = "cuda",
    .summary = "GPUs of one host that map each other's memory, for --memory cuda",
    .local = true,
    .maps = true,
    .combines_anywhere = true,
    .exchanges = PULL_EXCHANGES,
    .carries = pull_carries,
    .unavailable = pull_unavailable,
    .open = pull_open_endpoint,
    .reaches = pull_reaches,
    .address = pull_address,
    .attach = pull_attach,
    .connect = pull_connect,
    .channel = pull_channel,
    .describe = pull_describe,
    .wait_stats = pull_wait_stats,
    .activate = pull_activate,
    .progress = pull_progress,
    .check = pull_check,
    .idle_report = pull_idle_report,
    .close = pull_close,
};
