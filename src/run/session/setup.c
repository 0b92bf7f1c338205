/*
 * setup.c - prepares a rank to run the sweep: binds it, allocates its buffers, connects it.
 *
 * The ranks exchange five times, twice more if no CPU reads their buffers, and once or twice before
 * if a ring has order=auto (ring_places.c). Each exchange needs what followed from the one before
 * it:
 *
 * 1. needs: the CPUs that a rank may use, the memory that it is going to take, and the memory for
 *    the barrier of its host, which the host's first rank makes. Then each rank binds itself to a
 *    core and maps the barrier's memory.
 * 2. places: where a rank is bound, the device that has its memory, and whether it maps the
 *    barrier's memory. Then the report begins: it names each rank's core and GPU even if the job
 *    fails in the next step. That step checks that a host has memory for all of its ranks, writes
 *    the schedule of the barrier between hosts, and allocates the buffers.
 * 3. offers: the addresses of a rank's transports. They name its buffers, so they cannot travel
 *    before. With them go the names of its devices (NICs, a GPU): one rank of a host reads a
 *    device's counters. Then each rank tries to reach its peers.
 * 4. reach, with each peer that is to be connected: which transports reach it. Then it is known
 *    which links need rings: ranks whose buffers no CPU reads exchange what those take of the
 *    host's memory. Then all ranks connect; a transport may exchange parcels with its peers in it.
 *    At last, ranks whose devices may run schedules tell what these can do (device_setup.c).
 * 5. links, to rank 0 only: how they came to be connected, and the facts of the devices in use, for
 *    the report.
 */
#include "run/session/internal.h"

#include "base/list.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * The needs of all test cases of a job on this rank.
 */
static void needs_add(struct needs *needs, const struct schedule *schedule, size_t element)
{
    size_t bytes[BUFFERS];
    schedule_bytes(schedule, element, bytes);
    for (int b = 0; b < BUFFERS; b++)
        needs->bytes[b] = bytes[b] > needs->bytes[b] ? bytes[b] : needs->bytes[b];
    int lanes = (schedule->lanes + schedule->channels - 1) / schedule->channels;
    if (lanes > needs->device_lanes)
        needs->device_lanes = lanes;
    if (schedule->channels > needs->device_channels)
        needs->device_channels = schedule->channels;
}

/* The links that it needs. Devices have wires of their own. */
static void needs_add_links(struct needs *needs, const struct schedule *schedule)
{
    schedule_add_peers(schedule, 1, needs->peers);
    if (schedule->lanes > needs->lanes)
        needs->lanes = schedule->lanes;
}

static void needs_add_dropped(struct needs *needs, const struct schedule *schedule, size_t element)
{
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        size_t bytes = operation->length * element;
        if ((operation->kind == OPERATION_RECV || operation->kind == OPERATION_RECV_REDUCE) &&
            bytes > needs->dropped)
            needs->dropped = bytes;
    }
}

/* Does an injected fault drop a message of this rank? */
static bool job_drops(const struct job *job, int rank)
{
    for (int i = 0; i < job->injection_count; i++)
        if (job->injections[i].kind == INJECT_DROP && job->injections[i].rank == rank)
            return true;
    return false;
}

/* *most: the channels that the test case has if devices run it and hold all that it asks for. */
static enum status survey_test_case(const struct runner *runner, const struct candidate *candidate,
                                    size_t bytes, int channels, struct needs *needs, int *most)
{
    const struct job *job = runner->job;
    struct test_case test_case;
    bool drops = job_drops(job, runner->rank);
    TRY(test_case_outline(runner, candidate, bytes, channels, &test_case));
    for (int i = 0; i < test_case.schedule_count; i++) {
        needs_add(needs, test_case.schedules[i], candidate->datatype->size);
        if (channels == channel_count_host(job))
            needs_add_links(needs, test_case.schedules[i]);
        if (drops)
            needs_add_dropped(needs, test_case.schedules[i], candidate->datatype->size);
    }
    /* Wires bound them, too, by the lanes that are known so far. */
    const struct device_group_config group = {.ranks = runner->ranks,
                                              .channels = CHANNELS_MOST,
                                              .fits_channels = true,
                                              .lanes = needs->device_lanes,
                                              .slots = job->slots,
                                              .slot_bytes = job->slot_bytes};
    *most = test_case_device_channels(job, &test_case, device_group_channels_most(&group));
    test_case_close(&test_case);
    return STATUS_OK;
}

/* With each number of channels that it may get: which one is known when devices have told how many
 * blocks they hold. */
static enum status survey_channels(const struct runner *runner, const struct candidate *candidate,
                                   size_t bytes, struct needs *needs)
{
    int channels = channel_count_host(runner->job), most;
    do {
        TRY(survey_test_case(runner, candidate, bytes, channels, needs, &most));
        channels *= 2;
        tick_on(&runner->tick);
    } while (channels <= most);
    return STATUS_OK;
}

/* At all sizes of the sweep that it runs at. */
static enum status survey_candidate(const struct runner *runner, const struct candidate *candidate,
                                    struct needs *needs)
{
    const struct job *job = runner->job;
    for (size_t bytes = job_first_size(job, candidate), next = 1; next != 0; bytes = next) {
        if (candidate_runs_at(candidate, bytes))
            TRY(survey_channels(runner, candidate, bytes, needs));
        next = job_next_size(job, candidate, bytes);
    }
    return STATUS_OK;
}

/* Every size of the sweep is looked at: where blocks are cut to nothing at one size, another may
 * need other peers. Error: an algorithm refuses the job. */
static enum status survey(const struct runner *runner, struct needs *needs)
{
    *needs = (struct needs){.peers = new_array((size_t)runner->ranks, sizeof *needs->peers),
                            .lanes = 1,
                            .device_lanes = 1,
                            .device_channels = 1};
    for (int c = 0; c < runner->job->candidate_count; c++)
        TRY(survey_candidate(runner, &runner->job->candidates[c], needs));
    return STATUS_OK;
}

void needs_free(struct needs *needs)
{
    free(needs->peers);
    *needs = (struct needs){0};
}

/*
 * Prepares a rank to run the sweep.
 */
#define RANK_BYTES   ((size_t)1 << 20)  /* a process, its stacks and its connections, as measured */
#define SPINS_ALONE  300                /* a core for each rank, if no other program uses it */
#define SPINS_SHARED 1                  /* ranks share a core: spinning delays the others */
#define CACHE_USUAL  ((size_t)32 << 20) /* third level, where its size is not known */

/* 1. Needs. */

struct rank_needs {
    cpu_set_t cpus;
    struct memory_request memory;
    struct barrier_offer barrier;
    bool watches; /* rank 0: it reports what the links wait for, */
    bool samples; /* and all samples */
};

static void rank_needs_code(struct codec codec, struct rank_needs *needs)
{
    cpu_set_code(codec, &needs->cpus);
    memory_request_code(codec, &needs->memory);
    barrier_offer_code(codec, &needs->barrier);
    code_flag(codec, &needs->watches);
    code_flag(codec, &needs->samples);
}

/* The needs of this host's ranks, in their order. */
struct host_needs {
    struct session *session;
    int count;
    cpu_set_t *cpus;
    struct memory_request *memory;
    struct barrier_offer barrier;           /* of the first */
    struct memory_pool pools[MEMORY_POOLS]; /* seen before any rank of the host allocated */
};

static bool host_needs_decode(void *argument, int rank, struct reader *reader)
{
    struct host_needs *host = argument;
    const struct node_ranks *node = &host->session->runner.node;
    struct rank_needs needs;
    rank_needs_code(codec_from(reader), &needs);
    if (rank == 0) {
        host->session->job.watches = needs.watches;
        host->session->job.gathers_samples = needs.samples;
    }
    if (host->count < node->count && node->ranks[host->count] == rank) {
        if (host->count == 0)
            host->barrier = needs.barrier;
        host->cpus[host->count] = needs.cpus;
        host->memory[host->count++] = needs.memory;
    }
    return true;
}

/* Assigns the cores of this host to its ranks. Does this one have a core, or a hardware thread of
 * one, for itself? */
static void session_bind(struct session *session, const cpu_set_t *cpus)
{
    struct runner *runner = &session->runner;
    struct cpu_binding *binding = &session->bindings[runner->rank];
    int count = runner->node.count;
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int i = 0; i < count; i++)
        CPU_OR(&all, &all, &cpus[i]);
    cpu_binding_find(cpus, count, runner->node.place, session->job.bind == BIND_CORE, binding);
    session->has_core =
        binding->core >= 0 ? binding->sharing <= binding->threads : count <= CPU_COUNT(&all);
    runner->spins = session->has_core ? SPINS_ALONE : SPINS_SHARED;
}

/* Bytes that a rank takes of its host beside its buffers. Links are opened before the samples are
 * allocated, and take up to a quarter of what is left then (transports/shm/segment.c). */
static size_t session_own_bytes(const struct session *session)
{
    const struct job *job = &session->job;
    size_t bytes = RANK_BYTES + rank_result_bytes(job) +
                   slowest_bytes(job, &session->runner.split, session->runner.rank);
    if (job->gathers_samples && session->runner.rank == 0)
        bytes += sample_rows_bytes(job, session->runner.ranks);
    return bytes + bytes / 3;
}

/* Memory that no CPU reads is another pool than that of the samples. */
static size_t session_bytes(struct session *session)
{
    const struct job *job = &session->job;
    size_t buffers = checker_bytes(job, &session->needs), all;
    if (!job->memory->host_reads)
        return buffers;
    size_t own = session_own_bytes(session);
    session->takes = own > buffers ? MEMORY_SAMPLES : MEMORY_BUFFERS;
    return __builtin_add_overflow(buffers, own, &all) ? SIZE_MAX : all;
}

static enum status session_exchange_needs(struct session *session, struct host_needs *host)
{
    struct runner *runner = &session->runner;
    const struct job *job = &session->job;
    struct bytes share = {0};
    job->memory->look(host->pools); /* no rank allocates before all have looked */
    start_barrier_open(&runner->start_barrier, &runner->node);
    struct rank_needs needs = {.memory =
                                   memory_request_make(job->memory, session_bytes(session),
                                                       session_wire_bytes(session), host->pools),
                               .barrier = runner->start_barrier.offer,
                               .watches = job->watches,
                               .samples = job->gathers_samples};
    if (sched_getaffinity(0, sizeof needs.cpus, &needs.cpus) != 0)
        CPU_ZERO(&needs.cpus);
    rank_needs_code(codec_to(&share), &needs);
    TRY(exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "set-up", host_needs_decode,
                        host));
    session_bind(session, host->cpus);
    start_barrier_join(&runner->start_barrier, &runner->node, &host->barrier);
    return STATUS_OK;
}

/* 2. Places. */

struct places {
    struct session *session;
    bool *shares; /* by rank: does it map the memory of its host's barrier? */
};

static void place_code(struct codec codec, struct cpu_binding *binding,
                       struct memory_device *device, bool *shares)
{
    cpu_binding_code(codec, binding);
    memory_device_code(codec, device);
    code_flag(codec, shares);
}

static bool places_decode(void *argument, int rank, struct reader *reader)
{
    const struct places *places = argument;
    const struct runner *runner = &places->session->runner;
    struct cpu_binding binding;
    struct memory_device device;
    place_code(codec_from(reader), &binding, &device, &places->shares[rank]);
    if (places->session->devices)
        places->session->devices[rank] = device;
    if (rank != runner->rank)
        places->session->bindings[rank] = binding;
    else
        places->shares[rank] = runner->start_barrier.shared != NULL;
    return true;
}

/* `bound`: it is known where each rank is bound. */
static void session_begin_report(struct session *session, bool bound)
{
    const struct participants participants = {.ranks = session->runner.ranks,
                                              .members = control_members(session->control),
                                              .split = &session->runner.split,
                                              .bindings = bound ? session->bindings : NULL,
                                              .devices = bound ? session->devices : NULL,
                                              .bootstrap = session->membership->bootstrap};
    struct report *report = session->report;
    if (report && report->predictor)
        report->predictor->begin(report->predictor, &session->job, &participants);
    if (report)
        report->begin(report, &session->job, &participants);
}

/* `shares`: room for each rank's answer in struct places. */
static enum status session_exchange_places(struct session *session, bool *shares)
{
    struct bytes share = {0};
    struct places places = {.session = session, .shares = shares};
    bool shared = session->runner.start_barrier.shared != NULL;
    place_code(codec_to(&share), &session->bindings[session->runner.rank], &session->device,
               &shared);
    return exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "place", places_decode,
                           &places);
}

/* Buffers share the third-level cache with the buffers of the other ranks below it, and with all
 * else. What is larger than their part goes past the cache. */
static void session_divide_cache(struct session *session)
{
    struct runner *runner = &session->runner;
    const struct cpu_binding *mine = &session->bindings[runner->rank];
    int sharing = 1;
    for (int i = 0; i < runner->node.count; i++) {
        const struct cpu_binding *other = &session->bindings[runner->node.ranks[i]];
        sharing +=
            other != mine && (mine->cache == other->cache || mine->cache < 0 || other->cache < 0);
    }
    size_t bytes = mine->cache_bytes > 0 ? mine->cache_bytes : CACHE_USUAL;
    runner->nontemporal_least = bytes / 2 / (size_t)sharing;
}

/* Takes what this rank needs. */
static enum status session_take(struct session *session, const struct host_needs *host,
                                const bool *shares)
{
    struct runner *runner = &session->runner;
    const struct job *job = &session->job;
    const struct barrier_ranks all = {.ranks = runner->ranks,
                                      .rank = runner->rank,
                                      .members = control_members(session->control),
                                      .shares = shares};
    session_divide_cache(session);
    TRY(memory_check_host(job->memory, session->takes, host->pools, host->memory,
                          runner->node.count));
    TRY(start_barrier_arrange(&runner->start_barrier, &all,
                              job->watches ? session->needs.lanes : 0));
    TRY(checker_open(&session->checker, runner, &session->needs));
    TRY(session_open_devices(session,
                             memory_has_spare(host->pools, host->memory, runner->node.count)));
    return memory_open(job->memory, &runner->tick, &runner->memory);
}

/* Finds out what the ranks need, begins the report, and takes what this rank needs. */
static enum status session_place(struct session *session)
{
    struct runner *runner = &session->runner;
    size_t count = (size_t)runner->node.count;
    struct host_needs host = {.session = session,
                              .cpus = new_array(count, sizeof *host.cpus),
                              .memory = new_array(count, sizeof *host.memory)};
    bool *shares = new_array((size_t)runner->ranks, sizeof *shares);
    enum status status = survey(runner, &session->needs);
    if (status == STATUS_OK)
        status = session_exchange_needs(session, &host);
    if (status == STATUS_OK)
        status = session_exchange_places(session, shares);
    session_begin_report(session, status == STATUS_OK);
    if (status == STATUS_OK)
        status = session_take(session, &host, shares);
    free(host.cpus);
    free(host.memory);
    free(shares);
    return status;
}

/* 3. Offers, and 4. reach.
 *
 * The rings that a rank's links need, where they do not reach its buffers. Transports must know a
 * rank's memory when they open. Only when they all have, and the ranks have chosen among them, is
 * it known which links need rings. */

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

/* Links. */

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
    session->exchange = (struct peer_exchange){
        .call = session_exchange_peers, .lost = session_peer_lost, .argument = session};
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

/* Opens the transports, and exchanges their addresses and the names of devices. All ranks call it
 * together. Errors: links_open()'s, device_watch_open()'s. */
static enum status session_exchange_offers(struct session *session)
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

/* Chooses a transport for each peer, and connects. All ranks call it together. Errors: a peer that
 * none reaches, rings for which there is no memory, links_connect()'s. */
static enum status session_connect(struct session *session)
{
    struct runner *runner = &session->runner;
    TRY(session_exchange_reach(session));
    TRY(links_choose(runner->links, control_members(session->control)));
    TRY(session_open_rings(session));
    TRY(links_connect(runner->links, control_members(session->control)));
    runner_await(runner, -1);
    /* A rank that has ended its part waits for the others in an exchange. What it has sent may fail
     * meanwhile. */
    control_watch(session->control, session_watch, runner->links);
    struct executor_config shared = runner_executor_config(runner);
    return start_barrier_link(&runner->start_barrier, &shared);
}

/* 5. Links. */

static enum status session_connected(struct session *session)
{
    struct connectivity *connectivity = &session->connectivity;
    TRY(connectivity_gather(session->control, session->runner.links, &session->watch,
                            &session->runner.start_barrier, connectivity));
    struct report *report = session->report;
    if (report && report->predictor)
        report->predictor->connected(report->predictor, &session->job, connectivity);
    if (report && report->connected)
        report->connected(report, &session->job, connectivity);
    /* The table has its head. */
    TRY(report_check_read(session->report, &session->runner.tick));
    if (session->report)
        results_open(&session->results, &connectivity->devices, &session->runner.tick);
    return device_watch_begin(&session->watch);
}

/* A vendor's library, if the job runs one. */

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

/* When the links are connected. All ranks call it together. */
static enum status session_open_vendor(struct session *session)
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

/* All together. */

/* Finds which ranks belong together, and whether the job can run on them. */
static enum status session_split(struct session *session)
{
    const struct member *members = control_members(session->control);
    struct runner *runner = &session->runner;
    int ranks = runner->ranks;
    int *node = new_array((size_t)ranks, sizeof *node);
    for (int r = 0; r < ranks; r++)
        node[r] = members[r].node;
    enum status status = job_split(&session->job, ranks, node, &runner->split);
    free(node);
    if (status != STATUS_OK)
        return status;
    runner->group = split_group(&runner->split, runner->split.groups->group[runner->rank]);
    runner->group_rank = runner->split.groups->local_rank[runner->rank];
    return job_check_ranks(&session->job, ranks, &runner->split);
}

static enum status session_prepare(struct session *session)
{
    struct job *job = &session->job;
    struct runner *runner = &session->runner;
    runner->job = job;
    runner->control = session->control;
    runner->progress = control_progress(session->control);
    runner->rank = control_rank(session->control);
    runner->ranks = control_ranks(session->control);
    runner->chunk = job->chunk;
    runner_tick_open(runner);
    session->bindings = new_array((size_t)runner->ranks, sizeof *session->bindings);
    if (job->memory->settle)
        session->devices = new_array((size_t)runner->ranks, sizeof *session->devices);
    node_ranks_find(control_members(session->control), runner->ranks, runner->rank, &runner->node);
    node_ranks_compare(&runner->node, session->membership,
                       control_members(session->control)[runner->rank].host);
    control_enter(session->control, PHASE_SETUP);
    session->device.number = -1;
    TRY(session_split(session));
    if (job->memory->settle)
        TRY(job->memory->settle(job->devices, runner->node.place, &runner->tick, &session->device));
    return session_find_ring(session);
}

enum status session_set_up(struct session *session)
{
    struct job *job = &session->job;
    TRY(session_prepare(session));
    for (int c = 0; c < job->candidate_count; c++) {
        char title[CANDIDATE_TITLE_MOST];
        candidate_title(job, &job->candidates[c], title);
        control_name_algorithm(session->control, c, title);
    }
    TRY(session_place(session));
    TRY(session_exchange_offers(session));
    TRY(session_connect(session));
    TRY(session_settle_devices(session));
    TRY(session_open_vendor(session));
    if (job->watches) /* bound as the rank is, so that it meets what the rank meets */
        run_watch_start(&session->runner.run_watch, OUTLIER_LEAST * 1e-9 / 2,
                        OUTLIER_LEAST * 1e-9 / 2);
    if (job->watches)
        wait_meter_open(&session->runner.wait_meter);
    return session_connected(session);
}
