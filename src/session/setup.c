/*
 * setup.c - prepares a rank to run the sweep: binds it, allocates its buffers, connects it.
 */
#include "session/setup.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "measure/connectivity.h"
#include "transport/links.h"

#define SPINS_ALONE  300                /* a core for each rank, if nobody else uses it */
#define SPINS_SHARED 1                  /* ranks share its core: spinning delays the others */
#define CACHE_USUAL  ((size_t)32 << 20) /* third level, where nobody knows it */

static void schedule_needs(struct session *session, const struct schedule *schedule)
{
    size_t need[BUFFERS];
    schedule_bytes(schedule, session->job.datatype->size, need);
    for (int b = 0; b < BUFFERS; b++)
        session->need[b] = need[b] > session->need[b] ? need[b] : session->need[b];
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->operations[i].peer >= 0)
            session->wishes[schedule->operations[i].peer] |= LINKS_WISHED;
    if (schedule->lanes > session->lanes)
        session->lanes = schedule->lanes;
}

/* What the lines of one size will need. */
static enum status session_survey_size(struct session *session, size_t bytes)
{
    const struct job *job = &session->job;
    enum status status = STATUS_OK;
    for (int c = 0; c < job->candidate_count && status == STATUS_OK; c++) {
        struct test_case test_case;
        if (!job_runs_at(job, c, bytes))
            continue;
        status =
            test_case_schedules(&session->runner, &job->candidates[c].choice, bytes, &test_case);
        for (int i = 0; status == STATUS_OK && i < test_case.plans; i++)
            schedule_needs(session, test_case.schedules[i]);
        if (status == STATUS_OK)
            test_case_close(&test_case);
        tick_on(&session->runner.tick);
    }
    return status;
}

/* What all lines will need. Every size is looked at: where blocks are cut to nothing at one size,
 * another may need other peers. */
static enum status session_survey(struct session *session)
{
    const struct job *job = &session->job;
    session->wishes = calloc((size_t)session->runner.ranks, 1);
    if (!session->wishes)
        return fail(STATUS_ERROR, "out of memory for %d peers", session->runner.ranks);
    enum status status = STATUS_OK;
    size_t bytes = job->smallest, next = 1;
    for (; next != 0 && status == STATUS_OK; bytes = next) {
        status = session_survey_size(session, bytes);
        next = job_next_size(job, bytes);
    }
    /* Somebody reads what the links waited for: that is to be the collective's, and not the start
     * barrier's. */
    bool apart = job->watches;
    if (status == STATUS_OK)
        status = start_barrier_open(&session->runner.start_barrier, session->control, job->memory,
                                    apart ? session->lanes : 0);
    const struct schedule *start = session->runner.start_barrier.schedule;
    for (size_t i = 0; status == STATUS_OK && start && i < start->count; i++)
        if (start->operations[i].peer >= 0)
            session->wishes[start->operations[i].peer] |= apart ? LINKS_ONE_MORE : LINKS_WISHED;
    return status;
}

/* What the ranks of this host may use, in their order; *me: this rank's place among them. */
static cpu_set_t *session_masks(struct session *session, const struct blobs *blobs, int *me)
{
    const struct member *members = control_members(session->control);
    int ranks = session->runner.ranks, rank = session->runner.rank;
    cpu_set_t *masks = malloc((size_t)ranks * sizeof *masks);
    session->local_ranks = 0;
    for (int r = 0; masks && r < ranks; r++) {
        if (members[r].node != members[rank].node)
            continue;
        cpu_set_t *mask = &masks[session->local_ranks];
        if (r == rank)
            *me = session->local_ranks;
        CPU_ZERO(mask);
        if (blobs->size[r] == sizeof *mask)
            memcpy(mask, blobs->data[r], sizeof *mask);
        session->local_ranks++;
    }
    return masks;
}

/* What a rank says of itself: where it runs, and does it read what the links waited for? */
struct rank_setup {
    struct cpu_binding place;
    uint64_t watches; /* 0: no */
};
_Static_assert(sizeof(struct rank_setup) == sizeof(size_t) + 4 * sizeof(int) + sizeof(uint64_t),
               "no padding travels, which would be bytes of who knows what");

/* Everybody learns where everybody runs, and whether rank 0, which reports, wants all to watch.
 * What is large for this rank follows: its buffers have to share the third-level cache with those
 * of the other ranks below it, and with all else. */
static enum status session_share_places(struct session *session, const struct cpu_binding *place)
{
    const struct member *members = control_members(session->control);
    int ranks = session->runner.ranks, rank = session->runner.rank, sharing = 1;
    session->places = calloc((size_t)ranks, sizeof *session->places);
    if (!session->places)
        return fail(STATUS_ERROR, "out of memory for the places of %d ranks", ranks);
    struct blobs blobs;
    struct rank_setup setup = {
        .place = *place, .watches = session->job.bootstrap.verbosity >= 1 || session->job.json};
    enum status status = control_allgather(session->control, &setup, sizeof setup, &blobs);
    if (status != STATUS_OK)
        return status;
    for (int r = 0; r < ranks; r++) {
        struct cpu_binding *other = &session->places[r];
        *other = (struct cpu_binding){.core = -1, .cache = -1};
        if (blobs.size[r] == sizeof setup) {
            memcpy(&setup, blobs.data[r], sizeof setup);
            *other = setup.place;
        }
        if (r == 0)
            session->job.watches = setup.watches != 0;
        sharing += r != rank && members[r].node == members[rank].node &&
                   (place->cache == other->cache || place->cache < 0 || other->cache < 0);
    }
    blobs_free(&blobs);
    size_t bytes = place->cache_bytes > 0 ? place->cache_bytes : CACHE_USUAL;
    session->runner.nontemporal_least = bytes / 2 / (size_t)sharing;
    return STATUS_OK;
}

/* Deals the cores out to the ranks of this host; does this one have a core, or a hardware thread of
 * one, for itself? */
static enum status session_bind(struct session *session)
{
    struct runner *runner = &session->runner;
    cpu_set_t mine, all;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        CPU_ZERO(&mine);
    struct blobs blobs;
    enum status status = control_allgather(session->control, &mine, sizeof mine, &blobs);
    if (status != STATUS_OK)
        return status;
    int me = 0;
    cpu_set_t *masks = session_masks(session, &blobs, &me);
    blobs_free(&blobs);
    if (!masks)
        return fail(STATUS_ERROR, "out of memory for the cores of %d ranks", runner->ranks);
    CPU_ZERO(&all);
    for (int i = 0; i < session->local_ranks; i++)
        CPU_OR(&all, &all, &masks[i]);
    struct cpu_binding place;
    cpu_binding_find(masks, session->local_ranks, me, session->job.bind == BIND_CORE, &place);
    free(masks);
    session->has_core =
        place.core >= 0 ? place.sharing <= place.threads : session->local_ranks <= CPU_COUNT(&all);
    runner->spins = session->has_core ? SPINS_ALONE : SPINS_SHARED;
    return session_share_places(session, &place);
}

static enum status session_link(struct session *session)
{
    const struct job *job = &session->job;
    struct runner *runner = &session->runner;
    struct region regions[BUFFER_SETS_MOST + 1] = {runner->start_barrier.region};
    for (int i = 0; i < session->checked.set_count; i++)
        regions[i + 1] = session->checked.sets[i].region;
    struct transport_config config = {
        .rank = runner->rank,
        .ranks = runner->ranks,
        .local_ranks = session->local_ranks,
        .has_core = session->has_core,
        .is_bound = session->places[runner->rank].core >= 0,
        .copy = job->copy,
        .combines = job->collective->reduces,
        .one_way = job->collective->rooted,
        .slots = job->slots,
        .slot_bytes = job->slot_bytes,
        .regions = regions,
        .region_count = session->checked.set_count + 1,
        .interface = job->bootstrap.interface,
        .watches = job->watches,
        .secret = session->membership->secret,
        .timeout = job->bootstrap.timeout,
        .tick = &runner->tick,
    };
    control_enter(session->control, PHASE_CONNECT);
    enum status status = links_open(job->transports, &config, session->control, &runner->links);
    if (status == STATUS_OK)
        status = links_connect(runner->links, session->control, session->wishes, session->lanes);
    if (status != STATUS_OK)
        return status;
    runner_await(runner, -1);
    struct executor_config shared = runner_executor_config(runner);
    return start_barrier_link(&runner->start_barrier, &shared);
}

static enum status session_connected(struct session *session)
{
    struct connectivity connectivity;
    enum status status = connectivity_gather(session->control, session->runner.links,
                                             &session->runner.start_barrier, &connectivity);
    session->strangers = connectivity.strangers;
    if (status == STATUS_OK && session->report)
        session->report->connected(session->report, &session->job, &connectivity);
    return status;
}

/* Which ranks belong together. */
static enum status session_shape(struct session *session)
{
    const struct member *members = control_members(session->control);
    int ranks = session->runner.ranks;
    int *node = malloc((size_t)ranks * sizeof *node);
    if (!node)
        return fail(STATUS_ERROR, "out of memory for the nodes of %d ranks", ranks);
    for (int r = 0; r < ranks; r++)
        node[r] = members[r].node;
    enum status status = job_shape(&session->job, ranks, node, &session->runner.shape);
    free(node);
    return status;
}

/* Groups go by the hosts that the ranks name; the launcher may see it in another way. */
static void session_compare_nodes(const struct session *session)
{
    const struct membership *membership = session->membership;
    const struct member *members = control_members(session->control);
    const struct member *me = &members[membership->rank];
    int ranks = 0;
    for (int r = 0; r < membership->ranks; r++)
        ranks += members[r].node == me->node;
    if (membership->node_ranks == 0 || me->local_rank > 0 ||
        (membership->node_ranks == ranks && membership->node_rank == 0))
        return;
    say("the launcher counts this rank as number %d of %d on its node, but of those that name host "
        "%s it is number 0 of %d: groups and shared memory go by hosts, groups also by --shape",
        membership->node_rank, membership->node_ranks, me->host, ranks);
}

enum status session_set_up(struct session *session)
{
    struct job *job = &session->job;
    struct runner *runner = &session->runner;
    runner->job = job;
    runner->control = session->control;
    runner->progress = control_progress(session->control);
    runner->rank = control_rank(session->control);
    runner->ranks = control_ranks(session->control);
    runner_tick_open(runner);
    runner->chunk = job->chunk;
    session_compare_nodes(session);
    control_enter(session->control, PHASE_SETUP);
    enum status status = session_shape(session);
    if (status == STATUS_OK)
        status = job_check_ranks(job, runner->ranks, runner->shape);
    if (status != STATUS_OK)
        return status;
    status = session_bind(session);
    if (status != STATUS_OK)
        return status;
    for (int c = 0; c < job->candidate_count; c++) {
        char name[128];
        snprintf(name, sizeof name, "%s %s", job->collective->name, job->candidates[c].text);
        control_name_algorithm(session->control, c, name);
    }
    const struct participants participants = {.ranks = runner->ranks,
                                              .members = control_members(session->control),
                                              .places = session->places,
                                              .bootstrap = session->membership->bootstrap};
    if (session->report)
        session->report->begin(session->report, job, &participants);
    status = session_survey(session);
    if (status == STATUS_OK)
        status = checked_run_open(&session->checked, runner, session->need);
    if (status == STATUS_OK)
        status = job->memory->engine_open(&runner->engine);
    if (status == STATUS_OK)
        status = session_link(session);
    return status == STATUS_OK ? session_connected(session) : status;
}
