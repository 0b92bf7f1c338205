/*
 * coordinator.c - rank 0's view of a fleet: hosts with their agents, and the jobs that run on them.
 */
#include "controlplane/agents/agents.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Rank 0's heartbeats while it does not turn: it judges, or waits for a disk or a terminal.
 *
 * A thread that sends, and reads nothing. While it runs no other thread may touch the connections,
 * or fork.
 */
struct pulse {
    struct child_links *links;
    double seconds; /* between two heartbeats; to be written while it does not run */
    double beat; /* clock_seconds() at the last one, or the start; to be read once it has stopped */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool runs, stops;
};

static void beat_send(struct child_links *links, double seconds)
{
    struct bytes bytes = {0};
    beat_encode(seconds, &bytes);
    child_links_send(links, 0, FRAME_HEARTBEAT, bytes.data, bytes.size);
    bytes_free(&bytes);
}

/* False: it is to stop. */
static bool pulse_wait(struct pulse *pulse)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)pulse->seconds;
    until.tv_nsec += (long)(1e9 * (pulse->seconds - (double)(time_t)pulse->seconds));
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&pulse->lock);
    while (!pulse->stops && pthread_cond_timedwait(&pulse->stop, &pulse->lock, &until) != ETIMEDOUT)
        ;
    bool goes_on = !pulse->stops;
    pthread_mutex_unlock(&pulse->lock);
    return goes_on;
}

static void *pulse_main(void *argument)
{
    struct pulse *pulse = argument;
    while (pulse_wait(pulse)) {
        pulse->beat = clock_seconds();
        beat_send(pulse->links, pulse->seconds);
        child_links_flush(pulse->links);
    }
    return NULL;
}

static void pulse_init(struct pulse *pulse, struct child_links *links, double seconds)
{
    pthread_condattr_t attributes;
    *pulse = (struct pulse){.links = links, .seconds = seconds, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pulse->stop, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* If no thread can be started, there are no heartbeats: agents miss rank 0 if it does not turn for
 * long. */
static void pulse_start(struct pulse *pulse)
{
    pulse->stops = false;
    pulse->beat = clock_seconds();
    pulse->runs = pthread_create(&pulse->thread, NULL, pulse_main, pulse) == 0;
}

/* One that does not run is allowed. */
static void pulse_stop(struct pulse *pulse)
{
    if (!pulse->runs)
        return;
    pthread_mutex_lock(&pulse->lock);
    pulse->stops = true;
    pthread_cond_signal(&pulse->stop);
    pthread_mutex_unlock(&pulse->lock);
    pthread_join(pulse->thread, NULL);
    pulse->runs = false;
}

static void pulse_free(struct pulse *pulse)
{
    pulse_stop(pulse);
    pthread_cond_destroy(&pulse->stop);
}

/*
 * Rank 0's view of a fleet.
 */
#define LOOK_SECONDS    0.25
#define STOP_SHARE      0.8    /* of their patience: agents count it from the last word of rank 0 */
#define PULSE_LEAST     0.05   /* seconds between two heartbeats, and */
#define PULSE_EACH      0.5e-3 /* of each host: 2,000 a second at most, rarer beyond 100 hosts */
#define REPORT_SECONDS  8.0    /* after a worker's time, until its agent's report must be here */
#define PARTING_SECONDS 2.0

/* The place of an agent's worker in the run. */
struct duty {
    int job, rank; /* -1: none, or it has ended */
};

/* A job of the run. */
struct run_job {
    int left;       /* workers that have not ended */
    bool cancelled; /* since an agent of it is lost */
};

struct coordinator {
    struct agent agent; /* first: the hooks get it */
    struct roster roster;
    enum status refusal; /* the agents disagree */
    double heartbeat_at;
    struct pulse pulse; /* between runs */
    bool parting;       /* the agents were told to end */
    /* The run. */
    char stage[STAGE_NAME_MOST]; /* "": none */
    uint32_t number;
    struct duty *duties; /* by agent */
    const struct fleet_job *jobs;
    struct fleet_outcome *outcomes;
    struct run_job *run_jobs;
    int jobs_ended;
    double progressed_at; /* when the caller was told how far the run is */
    double turned_at;     /* the end of the last turn, or heartbeat of the pulse, */
    double resumed_at;    /* and when the first one behind a long stop began */
};

static struct coordinator *coordinator_of(struct agent *agent)
{
    return (struct coordinator *)agent;
}

static void duty_end(struct coordinator *coordinator, int rank, const struct worker_end *end)
{
    struct duty *duty = &coordinator->duties[rank];
    if (duty->job < 0)
        return;
    coordinator->outcomes[duty->job].ends[duty->rank] = *end;
    if (--coordinator->run_jobs[duty->job].left == 0)
        coordinator->jobs_ended++;
    duty->job = -1;
}

/* Others leave a rank 0 that does not turn: then their losses say nothing of them. */
static bool was_stopped(struct coordinator *coordinator)
{
    double now = clock_seconds(), seconds = now - coordinator->turned_at;
    if (coordinator->turned_at > 0 && seconds > STOP_SHARE * coordinator->agent.silence) {
        coordinator->roster.stopped = fmax(coordinator->roster.stopped, seconds);
        coordinator->resumed_at = now;
    }
    if (now - coordinator->resumed_at > coordinator->agent.silence)
        coordinator->roster.stopped = 0; /* that was another time */
    return coordinator->roster.stopped > 0;
}

static void coordinator_lose(struct coordinator *coordinator, int rank, const char *why,
                             enum agent_loss loss)
{
    const struct duty *duty = &coordinator->duties[rank];
    if (was_stopped(coordinator) && loss != LOSS_FORGED)
        loss = LOSS_SILENT;
    roster_lose(&coordinator->roster, rank, why, loss, coordinator->stage,
                duty->job >= 0 ? coordinator->jobs[duty->job].command : "");
}

/* Tells an agent to end its worker. */
static void worker_cancel(struct coordinator *coordinator, int rank)
{
    struct bytes bytes = {0};
    struct child_link *link =
        child_links_find(&coordinator->agent.below, coordinator->roster.agents[rank].via);
    cancel_encode(rank, coordinator->number, &bytes);
    if (rank == 0)
        agent_cancel(&coordinator->agent, coordinator->number);
    else if (link)
        child_link_send(link, 0, FRAME_CANCEL, bytes.data, bytes.size);
    bytes_free(&bytes);
}

static void job_cancel(struct coordinator *coordinator, int number)
{
    const struct fleet_job *job = &coordinator->jobs[number];
    coordinator->run_jobs[number].cancelled = true;
    for (int r = 0; r < job->ranks; r++)
        if (coordinator->duties[job->agents[r]].job == number)
            worker_cancel(coordinator, job->agents[r]);
}

/* Nothing comes of the workers of agents that are lost, and nothing of their jobs: these end now,
 * rather than when their own ranks have missed the lost one. */
static void duties_end_lost(struct coordinator *coordinator)
{
    for (int rank = 0; rank < coordinator->roster.ranks; rank++) {
        int job = coordinator->duties[rank].job;
        if (job < 0 || coordinator->roster.agents[rank].presence != PRESENCE_LOST)
            continue;
        duty_end(coordinator, rank, &(struct worker_end){.fate = WORKER_LOST});
        if (!coordinator->run_jobs[job].cancelled)
            job_cancel(coordinator, job);
    }
}

/* ---- joining ---- */

static void dismiss(struct wire *wire, enum status status, const char *why)
{
    struct notice notice = {.status = status, .personal = true};
    struct bytes bytes = {0};
    snprintf(notice.text, sizeof notice.text, "%s", why);
    notice_encode(&notice, &bytes);
    wire_dismiss(wire, FRAME_VERDICT, &bytes);
    bytes_free(&bytes);
}

static void coordinator_admit(void *argument, struct wire *wire, const struct join_request *request)
{
    struct coordinator *coordinator = argument;
    struct agent *self = &coordinator->agent;
    struct roster *roster = &coordinator->roster;
    char why[MESSAGE_MOST];
    enum status status = roster_check(roster, request, why, sizeof why);
    if (status != STATUS_OK) {
        dismiss(wire, status, why);
        if (!roster->complete && status != STATUS_TIMEOUT && coordinator->refusal == STATUS_OK)
            coordinator->refusal = fail(status, "%s", why);
        return;
    }
    struct redirect redirect = {.parent = roster_place(roster, request)};
    struct child_link link = {.wire = *wire, .rank = request->rank, .heard = self->now};
    struct bytes bytes = {0};
    if (redirect.parent)
        redirect.home = roster->agents[redirect.parent].request.home;
    redirect_encode(&redirect, &bytes);
    child_links_drop(&self->below, request->rank);
    if (redirect.parent) {
        wire_dismiss(wire, FRAME_REDIRECT, &bytes);
    } else {
        wire_put(&link.wire, 0, FRAME_REDIRECT, bytes.data, bytes.size);
        child_links_add(&self->below, &link);
    }
    bytes_free(&bytes);
}

/* ---- frames ---- */

static bool agent_introduced(struct coordinator *coordinator, const struct frame *frame)
{
    struct address_list work;
    if (!addresses_decode(frame->data, frame->size, &work) || work.count == 0)
        return false;
    roster_arrive(&coordinator->roster, frame->rank, &work);
    return true;
}

/* A worker of the run has ended. */
static bool worker_reported(struct coordinator *coordinator, int rank, const void *data,
                            size_t size)
{
    struct report_message report;
    const struct duty *duty = &coordinator->duties[rank];
    if (!report_message_decode(data, size, &report))
        return false;
    if (report.number != coordinator->number || duty->job < 0 || (int)report.job != duty->job)
        return true; /* of an earlier run, which did not wait for it */
    struct fleet_outcome *outcome = &coordinator->outcomes[duty->job];
    if (duty->rank == 0 && report.size > 0) {
        outcome->result = new_array(report.size + 1, 1);
        memcpy(outcome->result, report.result, report.size);
        outcome->size = report.size;
    }
    duty_end(coordinator, rank, &report.end);
    return true;
}

static bool agent_says_lost(struct coordinator *coordinator, int rank, const struct frame *frame)
{
    struct loss_message loss;
    if (!loss_decode(frame->data, frame->size, &loss))
        return false;
    coordinator_lose(coordinator, rank, loss.why, loss.ended ? LOSS_ENDED : LOSS_FAULT);
    return true;
}

/* A leader has those of its host; rank 0's own host has rank 0's. */
static bool gaps_taken(struct coordinator *coordinator, const struct frame *frame)
{
    struct host_gaps gaps;
    struct roster *roster = &coordinator->roster;
    bool right = gaps_decode(frame->data, frame->size, &gaps);
    int host = roster->agents[frame->rank].host;
    if (right && roster->complete && host != roster->agents[0].host)
        roster->hosts[host].gaps = gaps;
    return right;
}

static void own_gaps_take(struct coordinator *coordinator)
{
    struct roster *roster = &coordinator->roster;
    struct run_watch *watch = &coordinator->agent.watch;
    if (roster->complete)
        roster->hosts[roster->agents[0].host].gaps = (struct host_gaps){
            .stops = atomic_load(&watch->gaps), .stopped_us = atomic_load(&watch->gap_us)};
}

static bool coordinator_received(void *argument, struct child_link *child,
                                 const struct frame *frame)
{
    struct coordinator *coordinator = argument;
    if (frame->rank <= 0 || frame->rank >= coordinator->roster.ranks ||
        coordinator->roster.agents[frame->rank].via != child->rank)
        return false;
    switch (frame->type) {
    case FRAME_HEARTBEAT:
        return gaps_taken(coordinator, frame);
    case FRAME_AGENT:
        return agent_introduced(coordinator, frame);
    case FRAME_REPORT:
        return worker_reported(coordinator, frame->rank, frame->data, frame->size);
    case FRAME_LOST:
        return agent_says_lost(coordinator, frame->rank, frame);
    default:
        return false;
    }
}

static void coordinator_lost(void *argument, struct child_link *child, enum link_end end)
{
    struct coordinator *coordinator = argument;
    if (!coordinator->parting)
        coordinator_lose(coordinator, child->rank, agent_link_end(end),
                         end == LINK_BROKE    ? LOSS_ENDED
                         : end == LINK_FORGED ? LOSS_FORGED
                                              : LOSS_FAULT);
}

static void coordinator_reported(struct agent *agent, const struct bytes *report)
{
    worker_reported(coordinator_of(agent), 0, report->data, report->size);
}

static const struct agent_ops coordinator_ops = {
    .admit = coordinator_admit,
    .below = {.received = coordinator_received, .lost = coordinator_lost},
    .reported = coordinator_reported,
};

/* ---- turns ---- */

static void coordinator_check_silence(struct coordinator *coordinator)
{
    struct agent *agent = &coordinator->agent;
    char why[120];
    for (int i = 0; i < agent->below.count; i++) {
        struct child_link *child = &agent->below.list[i];
        double silent = agent->now - child->heard;
        if (child->wire.fd < 0 || silent < agent->silence)
            continue;
        snprintf(why, sizeof why,
                 "it is silent for %.1f s: stopped, or its host is down or unreachable", silent);
        coordinator_lose(coordinator, child->rank, why, LOSS_SILENT);
        dismiss(&child->wire, STATUS_TIMEOUT,
                "rank 0 received nothing from this host for too long, and goes on without it");
    }
}

/* Error: a signal came, or an agent is refused. */
static enum status coordinator_turn(struct coordinator *coordinator, double seconds)
{
    struct agent *agent = &coordinator->agent;
    agent_turn(agent, fmin(seconds, agent->heartbeat));
    if (agent->now - coordinator->heartbeat_at >= agent->heartbeat) {
        coordinator->heartbeat_at = agent->now;
        beat_send(&agent->below, agent->heartbeat);
    }
    own_gaps_take(coordinator);
    coordinator_check_silence(coordinator);
    duties_end_lost(coordinator);
    coordinator->turned_at = clock_seconds();
    if (agent->signal)
        return fail(STATUS_INTERRUPTED, "interrupted by SIG%s", sigabbrev_np(agent->signal));
    return coordinator->refusal;
}

/* ---- opening ---- */

static enum status coordinator_assemble(struct coordinator *coordinator)
{
    struct agent *agent = &coordinator->agent;
    struct roster *roster = &coordinator->roster;
    const struct membership *membership = agent->membership;
    double timeout = agent->config->bootstrap->timeout, until = agent->now + timeout;
    while (roster->present + roster->lost < roster->ranks && agent->now < until)
        TRY(coordinator_turn(coordinator, LOOK_SECONDS));
    char why[120];
    snprintf(why, sizeof why, "it did not call rank 0 within %.3g s (--timeout)", timeout);
    roster_complete(roster, why);
    membership_say_protection(membership, roster->host_count == 1);
    double pulse = fmax(PULSE_LEAST, PULSE_EACH * roster->leader_count);
    agent->heartbeat = fmin(pulse, agent->heartbeat);
    run_watch_start(&agent->watch, STOPPED_LEAST, STOPPED_PAUSE);
    coordinator->pulse.seconds = agent->heartbeat;
    if (membership->joined)
        membership->joined(membership->joined_argument);
    return STATUS_OK;
}

enum status coordinator_open(const struct membership *membership, const struct agent_config *config,
                             struct coordinator **result)
{
    size_t ranks = (size_t)membership->ranks;
    struct coordinator *coordinator = new_array(1, sizeof *coordinator);
    struct duty *duties = new_array(ranks, sizeof *duties);
    *result = NULL;
    enum status status = agent_open(&coordinator->agent, &coordinator_ops, membership, config);
    if (status != STATUS_OK) {
        free(coordinator);
        free(duties);
        return status;
    }
    coordinator->duties = duties;
    pulse_init(&coordinator->pulse, &coordinator->agent.below, coordinator->agent.heartbeat);
    for (size_t rank = 0; rank < ranks; rank++)
        duties[rank] = (struct duty){.job = -1};
    roster_open(&coordinator->roster, membership->ranks, &coordinator->agent.request,
                &coordinator->agent.work_home);
    status = coordinator_assemble(coordinator);
    if (status == STATUS_OK) {
        pulse_start(&coordinator->pulse);
        *result = coordinator;
    } else {
        coordinator_close(coordinator, status);
    }
    return status;
}

const struct roster *coordinator_roster(const struct coordinator *coordinator)
{
    return &coordinator->roster;
}

/* ---- runs ---- */

/* Sends the order for one rank of a job. */
static void order_send(struct coordinator *coordinator, int number, const struct fleet_job *job,
                       int rank, double seconds)
{
    int to = job->agents[rank];
    const struct known_agent *agent = &coordinator->roster.agents[to];
    const struct known_agent *root = &coordinator->roster.agents[job->agents[0]];
    struct order order = {.agent = to,
                          .number = coordinator->number,
                          .job = (uint32_t)number,
                          .rank = rank,
                          .ranks = job->ranks,
                          .root = root->work,
                          .seconds = seconds};
    memcpy(order.stage, coordinator->stage, sizeof order.stage);
    memcpy(order.root_host, root->request.host.name, sizeof order.root_host);
    snprintf(order.command, sizeof order.command, "%s", job->command);
    if (agent->presence == PRESENCE_LOST)
        return; /* its duty ends with the first turn */
    if (to == 0) {
        agent_obey(&coordinator->agent, &order);
        return;
    }
    struct bytes bytes = {0};
    struct child_link *link = child_links_find(&coordinator->agent.below, agent->via);
    order_encode(&order, &bytes);
    if (link)
        child_link_send(link, 0, FRAME_ORDER, bytes.data, bytes.size);
    bytes_free(&bytes);
}

/* Gives each job its outcome, and each agent its place. */
static void run_prepare(struct coordinator *coordinator, const char *stage,
                        const struct fleet_job *jobs, int count)
{
    snprintf(coordinator->stage, sizeof coordinator->stage, "%s", stage);
    coordinator->number++;
    coordinator->jobs = jobs;
    coordinator->jobs_ended = 0;
    coordinator->outcomes = new_array((size_t)count + 1, sizeof *coordinator->outcomes);
    coordinator->run_jobs = new_array((size_t)count + 1, sizeof *coordinator->run_jobs);
    for (int j = 0; j < count; j++) {
        coordinator->outcomes[j].ends =
            new_array((size_t)jobs[j].ranks, sizeof *coordinator->outcomes[j].ends);
        coordinator->run_jobs[j].left = jobs[j].ranks;
    }
    for (int j = 0; j < count; j++)
        for (int r = 0; r < jobs[j].ranks; r++)
            coordinator->duties[jobs[j].agents[r]] = (struct duty){.job = j, .rank = r};
}

/* Workers whose reports are late: their agents cannot do what they are for. */
static void run_give_up(struct coordinator *coordinator)
{
    for (int rank = 1; rank < coordinator->roster.ranks; rank++)
        if (coordinator->duties[rank].job >= 0)
            coordinator_lose(coordinator, rank, "it did not report the end of its worker",
                             LOSS_SILENT);
}

/* The caller writes to a terminal, which may be stopped: agents are not to miss rank 0 then. */
static void run_tell(struct coordinator *coordinator, coordinator_progress *progress,
                     void *argument, int count)
{
    if (coordinator->agent.now - coordinator->progressed_at < LOOK_SECONDS)
        return;
    coordinator->progressed_at = coordinator->agent.now;
    pulse_start(&coordinator->pulse);
    progress(argument, coordinator->jobs_ended, count);
    pulse_stop(&coordinator->pulse);
}

enum status coordinator_run(struct coordinator *coordinator, const char *stage,
                            const struct fleet_job *jobs, int count, double seconds,
                            coordinator_progress *progress, void *argument,
                            struct fleet_outcome **outcomes)
{
    pulse_stop(&coordinator->pulse);
    enum status status = STATUS_OK;
    run_prepare(coordinator, stage, jobs, count);
    for (int j = 0; j < count; j++)
        for (int r = 0; r < jobs[j].ranks; r++)
            order_send(coordinator, j, &jobs[j], r, seconds);
    double until = coordinator->agent.now + seconds + REPORT_SECONDS;
    coordinator->turned_at = coordinator->pulse.beat;
    while (status == STATUS_OK && coordinator->jobs_ended < count) {
        status = coordinator_turn(coordinator, LOOK_SECONDS);
        run_tell(coordinator, progress, argument, count);
        if (coordinator->agent.now > until)
            run_give_up(coordinator);
        if (coordinator->agent.now > until + REPORT_SECONDS)
            break; /* rank 0's own worker */
    }
    for (int rank = 0; rank < coordinator->roster.ranks; rank++)
        duty_end(coordinator, rank, &(struct worker_end){.fate = WORKER_LOST});
    *outcomes = coordinator->outcomes;
    free(coordinator->run_jobs);
    coordinator->run_jobs = NULL;
    coordinator->outcomes = NULL;
    coordinator->stage[0] = '\0';
    pulse_start(&coordinator->pulse);
    return status;
}

void coordinator_outcomes_free(struct fleet_outcome *outcomes, int count)
{
    for (int j = 0; j < count && outcomes; j++) {
        free(outcomes[j].result);
        free(outcomes[j].ends);
    }
    free(outcomes);
}

void coordinator_close(struct coordinator *coordinator, enum status status)
{
    struct bytes bytes = {0};
    if (!coordinator)
        return;
    pulse_free(&coordinator->pulse);
    coordinator->parting = true;
    notice_encode(&(struct notice){.status = status}, &bytes);
    child_links_send(&coordinator->agent.below, 0, FRAME_VERDICT, bytes.data, bytes.size);
    bytes_free(&bytes);
    double until = coordinator->agent.now + PARTING_SECONDS;
    while (coordinator->agent.below.count > 0 && coordinator->agent.now < until)
        agent_turn(&coordinator->agent, LOOK_SECONDS);
    agent_close(&coordinator->agent);
    roster_close(&coordinator->roster);
    free(coordinator->duties);
    free(coordinator);
}
