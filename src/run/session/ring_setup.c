/*
 * ring_setup.c - the rings that a rank's links need, where they do not reach its buffers.
 *
 * Transports must know a rank's memory when they open. Only when they all have, and the ranks have
 * chosen among them, is it known which links need rings.
 */
#include "run/session/internal.h"

#include <stdlib.h>

#include "base/log.h"
#include "controlplane/control/control.h"
#include "run/run.h"

int session_plan_rings(struct session *session, struct region *region)
{
    int channels = 0;
    if (session->job.memory->host_reads)
        return 0;
    for (int r = 0; r < session->runner.ranks; r++)
        channels += 2 * session->needs.peers[r].lanes;
    session->rings = region;
    *region = (struct region){
        .kind = memory_find("host"), .bytes = staging_area_most(channels), .fd = -1};
    return 1;
}

/* Channels of all test cases that need a ring. */
static int session_ring_channels(const struct session *session)
{
    const struct runner *runner = &session->runner;
    int channels = 0;
    for (int r = 0; r < runner->ranks; r++)
        if (session->needs.peers[r].lanes > 0)
            channels += session->needs.peers[r].lanes *
                        links_ring_directions(runner->links, r, session->job.memory);
    return channels;
}

/* What the ranks of this host take, in their order. */
struct ring_requests {
    const struct node_ranks *node;
    struct memory_request *requests;
    int count;
};

static bool ring_requests_decode(void *argument, int rank, struct reader *reader)
{
    struct ring_requests *host = argument;
    struct memory_request request;
    memory_request_decode(&request, reader);
    if (host->count < host->node->count && host->node->ranks[host->count] == rank)
        host->requests[host->count++] = request;
    return true;
}

/* Has this host memory for the rings of all of its ranks? */
static enum status session_check_rings(struct session *session, int channels)
{
    const struct memory_kind *memory = session->rings->kind;
    const struct node_ranks *node = &session->runner.node;
    struct memory_pool pools[MEMORY_POOLS];
    struct bytes share = {0};
    struct ring_requests host = {.node = node};
    host.requests = calloc((size_t)node->count, sizeof *host.requests);
    if (!host.requests)
        return fail(STATUS_ERROR, "out of memory for %d ranks", node->count);
    memory->look(pools); /* no rank allocates before all have looked */
    const struct memory_request request =
        memory_request_make(memory, staging_area_bytes(channels), 0, pools);
    memory_request_encode(&request, &share);
    enum status status = exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "ring",
                                         ring_requests_decode, &host);
    if (status == STATUS_OK)
        status = memory_check_host(memory, MEMORY_RINGS, pools, host.requests, node->count);
    free(host.requests);
    return status;
}

enum status session_open_rings(struct session *session)
{
    struct runner *runner = &session->runner;
    if (!session->rings)
        return STATUS_OK;
    int channels = session_ring_channels(session);
    enum status status = session_check_rings(session, channels);
    if (status == STATUS_OK)
        status = staging_area_open(&runner->memory, channels, &runner->tick, &runner->staging);
    session->rings->base = runner->staging.region.base;
    session->rings->bytes = runner->staging.region.bytes;
    return status;
}
