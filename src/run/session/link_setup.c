/*
 * link_setup.c - opens a rank's links, and connects them to its peers.
 */
#include "run/session/internal.h"

#include "base/list.h"
#include "base/log.h"

#include <stdlib.h>

/*
 * The rings that a rank's links need, where they do not reach its buffers.
 *
 * Transports must know a rank's memory when they open. Only when they all have, and the ranks have
 * chosen among them, is it known which links need rings.
 */
/* Before the links open: fills in *region with the most that the rings will take, without an
 * address. Returns how many regions that is: 0 where a CPU reads the buffers. */
static int session_plan_rings(struct session *session, struct region *region)
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

/* The shares of the ranks of this host, in their order. */
struct ring_requests {
    const struct node_ranks *node;
    struct memory_request *requests;
    int count;
};

static bool ring_requests_decode(void *argument, int rank, struct reader *reader)
{
    struct ring_requests *host = argument;
    struct memory_request request;
    memory_request_code(codec_from(reader), &request);
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
    host.requests = new_array((size_t)node->count, sizeof *host.requests);
    memory->look(pools); /* no rank allocates before all have looked */
    struct memory_request request =
        memory_request_make(memory, staging_area_bytes(channels), 0, pools);
    memory_request_code(codec_to(&share), &request);
    enum status status = exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "ring",
                                         ring_requests_decode, &host);
    if (status == STATUS_OK)
        status = memory_check_host(memory, MEMORY_RINGS, pools, host.requests, node->count);
    free(host.requests);
    return status;
}

/* When each peer's transport is chosen, and before the links connect: allocates the rings, for the
 * links that need them. All ranks call it together. Errors: the ranks of this host ask for more
 * than it has, or those of allocate() and pin(). */
static enum status session_open_rings(struct session *session)
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

/*
 * Joins the ranks by a vendor's library, if the job runs one.
 */
/* The tasks of the job's candidates for their vendor. Returns how many tasks they are. */
static int job_tasks(const struct job *job, int ranks, struct vendor_task *tasks)
{
    int count = 0;
    for (int i = 0; i < job->candidate_count; i++) {
        const struct candidate *candidate = &job->candidates[i];
        if (candidate->choice.algorithm->vendor)
            tasks[count++] = (struct vendor_task){.collective = candidate->collective,
                                                  .datatype = candidate->datatype,
                                                  .reduction = candidate->reduction,
                                                  .ranks = ranks,
                                                  .in_place = job->in_place};
    }
    return count;
}

enum status session_open_vendor(struct session *session)
{
    const struct job *job = &session->job;
    struct runner *runner = &session->runner;
    runner->vendor = job_vendor(job);
    if (!runner->vendor)
        return STATUS_OK;
    struct vendor_task *tasks = new_array((size_t)job->candidate_count, sizeof *tasks);
    int count = job_tasks(job, runner->ranks, tasks);
    enum status status = runner->vendor->open(session->control, tasks, count, &runner->tick,
                                              &runner->vendor_session);
    free(tasks);
    return status;
}

void session_close_vendor(struct session *session)
{
    struct runner *runner = &session->runner;
    if (runner->vendor)
        runner->vendor->close(runner->vendor_session);
    runner->vendor_session = NULL;
}

/*
 * Opens a rank's links.
 */
static enum status session_exchange_peers(void *session, const int *peers, int count,
                                          const void *mine, size_t each, void *theirs)
{
    return exchange_with_peers(((struct session *)session)->control, peers, count, mine, each,
                               theirs, "link");
}

static bool session_peer_lost(void *session, int peer)
{
    return control_lost(((struct session *)session)->control, peer);
}

/* Lists all memory that transfers will name. Returns how many regions it is. */
static int session_list_regions(struct session *session)
{
    const struct region *barrier = &session->runner.start_barrier.region;
    int count = 0;
    for (int i = 0; i < session->checker.set_count; i++)
        session->regions[count++] = session->checker.sets[i].region;
    if (barrier->kind)
        session->regions[count++] = *barrier;
    count += session_plan_rings(session, &session->regions[count]);
    return count;
}

static enum status session_open_links(struct session *session)
{
    const struct job *job = &session->job;
    struct runner *runner = &session->runner;
    session->exchange = (struct peer_exchange){.call = session_exchange_peers, .argument = session};
    session->witness = (struct peer_witness){.lost = session_peer_lost, .argument = session};
    struct transport_config config = {
        .rank = runner->rank,
        .ranks = runner->ranks,
        .local_ranks = runner->node.count,
        .local_rank = runner->node.place,
        .process_ranks = job->bootstrap.ranks_as == RANKS_THREADS ? runner->node.count : 1,
        .has_core = session->has_core,
        .is_bound = session->bindings[runner->rank].core >= 0,
        .copy = job->copy,
        .combines = job_traits(job).reduces,
        .slots = job->slots,
        .slot_bytes = job->slot_bytes,
        .regions = session->regions,
        .region_count = session_list_regions(session),
        .memory_bus = session->device.bus,
        .interface = job->bootstrap.interface,
        .maps_only = job->executor == EXECUTOR_DEVICE,
        .stages = !job->memory->host_reads,
        .watches = job->watches,
        .secret = session->membership->secret,
        .timeout = job->bootstrap.timeout,
        .tick = &runner->tick,
        .exchange = &session->exchange,
        .witness = &session->witness,
    };
    return links_open(job->transports, &config, &runner->links);
}

static bool offers_decode(void *argument, int rank, struct reader *reader)
{
    struct session *session = argument;
    const struct member *members = control_members(session->control);
    int own = session->runner.rank;
    bool precedes = rank < own && members[rank].node == members[own].node;
    return links_decode_offers(session->runner.links, rank, reader) &&
           device_watch_decode(&session->watch, precedes, reader);
}

static enum status session_open_watch(struct session *session)
{
    const struct watch_config config = {
        .links = session->runner.links,
        .memory = session->job.memory,
        .device = &session->device,
        .host = control_members(session->control)[session->runner.rank].host,
        .tick = &session->runner.tick,
    };
    return device_watch_open(&session->watch, &config);
}

/* Tells the links what this rank needs of its peers. Where the report shows what the links wait
 * for, the start barrier has a lane of its own: the collective's waits are reported, not the
 * barrier's. */
static void session_wish(const struct session *session)
{
    const struct runner *runner = &session->runner;
    const struct schedule *start = runner->start_barrier.schedule;
    unsigned char *wishes = new_array((size_t)runner->ranks, 1);
    for (int r = 0; r < runner->ranks; r++)
        wishes[r] = session->needs.peers[r].lanes > 0 ? LINKS_WISHED : 0;
    for (size_t i = 0; start && i < start->count; i++)
        if (start->operations[i].peer >= 0)
            wishes[start->operations[i].peer] |=
                session->job.watches ? LINKS_ONE_MORE : LINKS_WISHED;
    links_wish(runner->links, wishes, session->needs.lanes);
    free(wishes);
}

enum status session_exchange_offers(struct session *session)
{
    struct bytes share = {0};
    control_enter(session->control, PHASE_CONNECT);
    TRY(session_open_links(session));
    session_wish(session);
    TRY(session_open_watch(session));
    links_encode_offers(session->runner.links, &share);
    device_watch_encode(&session->watch, &share);
    return exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "address", offers_decode,
                           session);
}

static enum status session_watch(void *links)
{
    return links_check(links);
}

/* Tells each peer that this rank wishes for by which transports it can be reached, and learns the
 * same of it. */
static enum status session_exchange_reach(struct session *session)
{
    size_t ranks = (size_t)session->runner.ranks;
    struct links *links = session->runner.links;
    int *peers = new_array(ranks, sizeof *peers);
    unsigned char *here = new_array(ranks, 1), *back = new_array(ranks, 1);
    links_attach(links);
    int count = links_encode_reach(links, peers, here);
    enum status status = session_exchange_peers(session, peers, count, here, 1, back);
    if (status == STATUS_OK)
        links_decode_reach(links, peers, count, back);
    free(peers);
    free(here);
    free(back);
    return status;
}

enum status session_connect(struct session *session)
{
    struct runner *runner = &session->runner;
    enum status status = session_exchange_reach(session);
    if (status == STATUS_OK)
        status = links_choose(runner->links, control_members(session->control));
    if (status == STATUS_OK)
        status = session_open_rings(session);
    if (status == STATUS_OK)
        status = links_connect(runner->links, control_members(session->control));
    if (status != STATUS_OK)
        return status;
    runner_await(runner, -1);
    /* A rank that has ended its part waits for the others in an exchange. What it has sent may fail
     * meanwhile. */
    control_watch(session->control, session_watch, runner->links);
    struct executor_config shared = runner_executor_config(runner);
    return start_barrier_link(&runner->start_barrier, &shared);
}
