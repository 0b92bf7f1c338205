/*
 * follower.c - the life of every agent of a fleet but rank 0.
 *
 * It calls rank 0 again and again, since rank 0 may start later. Rank 0 answers with REDIRECT: it
 * stays, as the leader of its host, or goes to the leader. There it introduces itself (AGENT).
 */
#include "controlplane/agents/agents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

#define ATTEMPT_SECONDS 5.0 /* for one address to answer and to authenticate */
#define RETRY_SECONDS   0.1
#define SIGNAL_SECONDS  1.0 /* from a signal until it leaves: rank 0 may end the run first */
#define BELOW_SECONDS   1.0 /* between two heartbeats to the agents below, which note no gaps */
#define LOOKED_SECONDS  0.1 /* or a heartbeat: an agent that looked earlier did not listen */
#define SETTLE_SECONDS  0.1 /* until the thread of the watch has noted what it slept through */
#define PARTING_SECONDS 1.0 /* for those below to take the last frame */

enum follower_state {
    FOLLOWER_CALLS,  /* rank 0 */
    FOLLOWER_ASKS,   /* rank 0 has answered: where is its place? */
    FOLLOWER_GOES,   /* calls its leader */
    FOLLOWER_PLACED, /* connected to rank 0 or its leader */
    FOLLOWER_ENDED,
};

struct follower {
    struct agent agent; /* first: the hooks get it */
    enum follower_state state;
    enum status status; /* then */
    struct root_address root;
    struct connector connector;
    const char *outcomes[ADDRESSES_MOST];
    double call_again; /* not sooner */
    double call_until;
    int leader;
    struct wire up;
    double heard, heartbeat_at, signaled_at;
    double beat_at; /* of the last heartbeat to the agents below */
    struct hearing hearing;
    struct host_gaps gaps;
};

static struct follower *follower_of(struct agent *agent)
{
    return (struct follower *)agent;
}

static void follower_end(struct follower *follower, enum status status)
{
    if (follower->state == FOLLOWER_ENDED)
        return;
    follower->state = FOLLOWER_ENDED;
    follower->status = status;
}

/* ---- upwards ---- */

static void follower_call(struct follower *follower, int rank, const struct address *routes,
                          int count)
{
    struct agent *agent = &follower->agent;
    struct connector *call = &follower->connector;
    *call = (struct connector){.secret = agent->membership->secret,
                               .purpose = FLEET_PURPOSE,
                               .rank = rank,
                               .is_right = join_request_is_of};
    call->hello_size = join_request_encode(&agent->request, call->hello);
    memset(follower->outcomes, 0, sizeof follower->outcomes);
    connector_begin(call, routes, follower->outcomes, count, ATTEMPT_SECONDS, agent->now);
}

static void follower_call_root(struct follower *follower)
{
    follower->state = FOLLOWER_CALLS;
    follower_call(follower, 0, follower->root.routes, follower->root.count);
}

static void follower_introduce(struct follower *follower)
{
    unsigned char blob[ADDRESSES_BLOB_MOST];
    size_t size = addresses_encode(&follower->agent.work_home, blob);
    follower->state = FOLLOWER_PLACED;
    if (follower->leader == 0)
        run_watch_start(&follower->agent.watch, STOPPED_LEAST, STOPPED_PAUSE);
    wire_put(&follower->up, follower->agent.membership->rank, FRAME_AGENT, blob, size);
}

static void follower_connected(struct follower *follower)
{
    wire_connect(&follower->up, follower->connector.fd, &follower->connector.keys);
    connector_taken(&follower->connector);
    follower->heard = follower->agent.now;
    if (follower->state == FOLLOWER_CALLS)
        follower->state = FOLLOWER_ASKS;
    else
        follower_introduce(follower);
}

static void follower_call_failed(struct follower *follower)
{
    struct agent *agent = &follower->agent;
    struct root_address *root = &follower->root;
    connector_drop(&follower->connector);
    follower->call_again = agent->now + RETRY_SECONDS;
    if (follower->state == FOLLOWER_GOES) { /* back to rank 0, which takes it itself then */
        agent->request.reason = JOIN_AGAIN;
        follower->state = FOLLOWER_CALLS;
        return;
    }
    char tried[700];
    routes_text(root->routes, follower->outcomes, root->count, tried, sizeof tried);
    if (root_address_next_port(root))
        follower->call_again = agent->now;
    else if (agent->now >= follower->call_until)
        follower_end(follower, fail(STATUS_TIMEOUT,
                                    "rank 0 could not be reached at %s for %.3g s (%s): is it "
                                    "running there?",
                                    root->place, agent->config->bootstrap->timeout, tried));
}

/* ---- downwards ---- */

static bool follower_redirect(struct follower *follower, const struct frame *frame)
{
    struct redirect redirect;
    struct address routes[ADDRESSES_MOST];
    const struct membership *membership = follower->agent.membership;
    if (follower->state != FOLLOWER_ASKS ||
        !redirect_decode(frame->data, frame->size, membership->ranks, &redirect))
        return false;
    if (redirect.parent == 0) {
        follower_introduce(follower);
        return true;
    }
    follower->state = FOLLOWER_GOES;
    follower->leader = redirect.parent;
    wire_close(&follower->up);
    int count = addresses_routes(&follower->agent.request.home, &redirect.home, routes);
    follower_call(follower, redirect.parent, routes, count);
    return true;
}

/* An order, or its end, for this agent or one that it leads. */
static bool follower_order(struct follower *follower, const struct frame *frame)
{
    struct agent *agent = &follower->agent;
    struct order order;
    uint32_t number;
    int whom = message_agent(frame->data, frame->size);
    struct child_link *child = child_links_find(&agent->below, whom);
    if (child) {
        child_link_send(child, 0, frame->type, frame->data, frame->size);
        return true;
    }
    if (whom != agent->membership->rank)
        return whom >= 0; /* of one that was lost: rank 0 knows it soon */
    if (frame->type == FRAME_CANCEL && cancel_decode(frame->data, frame->size, &number))
        agent_cancel(agent, number);
    else if (frame->type == FRAME_ORDER && order_decode(frame->data, frame->size, &order))
        agent_obey(agent, &order);
    else
        return false;
    return true;
}

/* How the run ended, or why this agent has no part in it any more. */
static bool follower_verdict(struct follower *follower, const struct frame *frame)
{
    struct notice notice;
    if (!notice_decode(frame->data, frame->size, &notice))
        return false;
    child_links_send(&follower->agent.below, 0, FRAME_VERDICT, frame->data, frame->size);
    follower_end(follower, notice.text[0] ? fail(notice.status, "%s", notice.text) : notice.status);
    return true;
}

static bool follower_handle(struct follower *follower, const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_HEARTBEAT:
        return beat_decode(frame->data, frame->size, &follower->agent.heartbeat);
    case FRAME_REDIRECT:
        return follower_redirect(follower, frame);
    case FRAME_ORDER:
    case FRAME_CANCEL:
        return follower->state == FOLLOWER_PLACED && follower_order(follower, frame);
    case FRAME_VERDICT:
        return follower_verdict(follower, frame);
    default:
        return false;
    }
}

/* Rank 0, or the leader, closes the connection only after a verdict. */
static void follower_lost_up(struct follower *follower, enum frame_state state)
{
    wire_close(&follower->up);
    if (follower->state == FOLLOWER_ENDED)
        return;
    if (follower->state < FOLLOWER_PLACED) {
        follower->call_again = follower->agent.now + RETRY_SECONDS;
        follower->state = FOLLOWER_CALLS;
        return;
    }
    const char *why = state == FRAME_FORGED ? "its data " FORGED
                      : state == FRAME_BAD  ? "it sent an invalid message"
                                            : "the connection broke";
    follower_end(follower, follower->leader
                               ? fail_peer(REASON_PEER_LOST, follower->leader,
                                           "rank %d, which leads the agents of this host, is lost: "
                                           "%s",
                                           follower->leader, why)
                               : fail_peer(REASON_PEER_LOST, 0, "rank 0 is lost: %s", why));
}

void hearing_word(struct hearing *hearing, double now, uint64_t stopped_us, double heartbeat)
{
    double silence = hearing->word_at > 0 ? now - hearing->word_at : 0;
    bool looked = now - hearing->idle_at < fmax(LOOKED_SECONDS, heartbeat);
    if (looked && silence >= fmax(UNHEARD_LEAST, UNHEARD_BEATS * heartbeat)) {
        if (hearing->silence <= 0)
            hearing->began_stopped_us = hearing->word_stopped_us;
        hearing->silence += silence;
        hearing->silence_ended = now;
    }
    hearing->word_at = now;
    hearing->word_stopped_us = stopped_us;
}

void hearing_count(struct hearing *hearing, double now, uint64_t stopped_us, struct host_gaps *gaps)
{
    if (hearing->silence <= 0 || now - hearing->silence_ended < SETTLE_SECONDS)
        return;
    double ran = hearing->silence - (double)(stopped_us - hearing->began_stopped_us) * 1e-6;
    hearing->silence = 0;
    if (ran < UNHEARD_LEAST)
        return;
    gaps->unheard++;
    gaps->unheard_us += (uint64_t)(ran * 1e6);
}

void hearing_idle(struct hearing *hearing, double now)
{
    hearing->idle_at = now;
}

/* A word of rank 0 has come. */
static void follower_hear(struct follower *follower)
{
    struct agent *agent = &follower->agent;
    if (follower->state == FOLLOWER_PLACED)
        hearing_word(&follower->hearing, clock_seconds(), atomic_load(&agent->watch.gap_us),
                     agent->heartbeat);
    follower->heard = agent->now;
}

static void follower_receive(struct follower *follower)
{
    struct wire *wire = &follower->up;
    struct frame frame;
    enum frame_state state;
    bool open = wire_fill(wire);
    while (wire->fd >= 0 && (state = wire_take(wire, &frame)) != FRAME_PART) {
        follower_hear(follower);
        if (state == FRAME_WHOLE && follower_handle(follower, &frame) && wire == &follower->up)
            continue;
        follower_lost_up(follower, state == FRAME_WHOLE ? FRAME_BAD : state);
        return;
    }
    if (!open && wire->fd >= 0)
        follower_lost_up(follower, FRAME_PART);
}

/* ---- hooks ---- */

/* An agent of this host, which rank 0 has sent here. */
static void follower_admit(void *argument, struct wire *wire, const struct join_request *request)
{
    struct agent *agent = argument;
    const struct child_link link = {.wire = *wire, .rank = request->rank, .heard = agent->now};
    child_links_drop(&agent->below, request->rank);
    child_links_add(&agent->below, &link);
}

static bool follower_received(void *argument, struct child_link *child, const struct frame *frame)
{
    struct follower *follower = argument;
    if (frame->type == FRAME_HEARTBEAT)
        return true;
    if (frame->rank != child->rank ||
        (frame->type != FRAME_AGENT && frame->type != FRAME_REPORT && frame->type != FRAME_LOST))
        return false;
    wire_put(&follower->up, child->rank, frame->type, frame->data, frame->size);
    return true;
}

/* Tells rank 0 that an agent of this host, or this one itself, is lost. `ended`: its process, or
 * its connection. */
static void follower_report_lost(struct follower *follower, int rank, const char *why, bool ended)
{
    struct loss_message loss = {.ended = ended};
    struct bytes bytes = {0};
    snprintf(loss.why, sizeof loss.why, "%s", why);
    loss_encode(&loss, &bytes);
    if (follower->state == FOLLOWER_PLACED)
        wire_put(&follower->up, rank, FRAME_LOST, bytes.data, bytes.size);
    bytes_free(&bytes);
}

static void follower_lost(void *argument, struct child_link *child, enum link_end end)
{
    follower_report_lost(argument, child->rank, agent_link_end(end), end == LINK_BROKE);
}

static void follower_reported(struct agent *agent, const struct bytes *report)
{
    struct follower *follower = follower_of(agent);
    if (follower->state == FOLLOWER_PLACED)
        wire_put(&follower->up, agent->membership->rank, FRAME_REPORT, report->data, report->size);
}

static void follower_watch(struct agent *agent, struct pollfd *set)
{
    struct follower *follower = follower_of(agent);
    set[0] = connector_watch(&follower->connector);
    if (follower->up.fd >= 0 && wire_pending(&follower->up))
        wire_flush(&follower->up); /* an error shows when it is read */
    set[1] = wire_watch(&follower->up, true);
}

static void follower_serve(struct agent *agent, const struct pollfd *set)
{
    struct follower *follower = follower_of(agent);
    enum connector_state state = connector_step(&follower->connector, set[0].revents, agent->now);
    if (follower->up.fd >= 0 && set[1].fd == follower->up.fd && (set[1].revents & ~POLLOUT))
        follower_receive(follower);
    else
        hearing_idle(&follower->hearing, clock_seconds());
    if (state == CALL_DONE)
        follower_connected(follower);
    else if (state == CALL_FAILED || state == CALL_HOPELESS)
        follower_call_failed(follower);
}

static void follower_leave(struct agent *agent)
{
    struct follower *follower = follower_of(agent);
    connector_drop(&follower->connector);
    wire_close(&follower->up);
}

static const struct agent_ops follower_ops = {
    .admit = follower_admit,
    .below = {.received = follower_received, .lost = follower_lost},
    .reported = follower_reported,
    .watch = follower_watch,
    .serve = follower_serve,
    .leave = follower_leave,
};

/* ---- its life ---- */

static void gaps_note(struct follower *follower)
{
    struct host_gaps *gaps = &follower->gaps;
    gaps->stops = atomic_load(&follower->agent.watch.gaps);
    gaps->stopped_us = atomic_load(&follower->agent.watch.gap_us);
    hearing_count(&follower->hearing, clock_seconds(), gaps->stopped_us, gaps);
}

static void follower_heartbeat(struct follower *follower)
{
    struct agent *agent = &follower->agent;
    if (agent->now - follower->heartbeat_at < agent->heartbeat)
        return;
    follower->heartbeat_at = agent->now;
    gaps_note(follower);
    struct bytes bytes = {0};
    gaps_encode(&follower->gaps, &bytes);
    if (follower->state == FOLLOWER_PLACED)
        wire_put(&follower->up, agent->membership->rank, FRAME_HEARTBEAT, bytes.data, bytes.size);
    bytes_free(&bytes);
    if (agent->now - follower->beat_at < BELOW_SECONDS)
        return;
    follower->beat_at = agent->now;
    beat_encode(BELOW_SECONDS, &bytes);
    child_links_send(&agent->below, 0, FRAME_HEARTBEAT, bytes.data, bytes.size);
    bytes_free(&bytes);
}

static void follower_check_silence(struct follower *follower)
{
    struct agent *agent = &follower->agent;
    char why[120];
    for (int i = 0; i < agent->below.count; i++) {
        struct child_link *child = &agent->below.list[i];
        if (child->wire.fd < 0 || agent->now - child->heard < agent->silence)
            continue;
        snprintf(why, sizeof why, "it is silent for %.1f s: stopped, or starved of its core",
                 agent->now - child->heard);
        follower_report_lost(follower, child->rank, why, false);
        wire_close(&child->wire);
    }
    if (follower->up.fd < 0 || agent->now - follower->heard < agent->silence)
        return;
    if (follower->state == FOLLOWER_PLACED)
        follower_end(follower, fail_peer(REASON_PEER_LATE, follower->leader,
                                         "rank %d is silent for %.1f s: it is stopped, or its host "
                                         "is down or unreachable",
                                         follower->leader, agent->now - follower->heard));
    else
        follower_lost_up(follower, FRAME_PART);
}

/* A signal ends the run where rank 0 got it, too; else this agent alone leaves. */
static void follower_check_signal(struct follower *follower)
{
    struct agent *agent = &follower->agent;
    char why[80];
    if (!agent->signal)
        return;
    if (follower->signaled_at <= 0) {
        follower->signaled_at = agent->now;
        worker_abandon(&agent->worker);
    }
    if (agent->now - follower->signaled_at < SIGNAL_SECONDS)
        return;
    snprintf(why, sizeof why, "it was ended by SIG%s", sigabbrev_np(agent->signal));
    follower_report_lost(follower, agent->membership->rank, why, true);
    follower_end(follower, STATUS_INTERRUPTED);
}

/* Gives the agents below, and rank 0, the last frames. */
static void follower_part(struct follower *follower)
{
    struct agent *agent = &follower->agent;
    double until = agent->now + PARTING_SECONDS;
    worker_abandon(&agent->worker);
    while ((child_links_pending(&agent->below) ||
            (follower->up.fd >= 0 && wire_pending(&follower->up))) &&
           agent->now < until)
        agent_turn(agent, 0.05);
}

enum status follower_run(const struct membership *membership, const struct agent_config *config)
{
    struct follower *follower = new_array(1, sizeof *follower);
    follower->up.fd = follower->connector.fd = -1;
    struct agent *agent = &follower->agent;
    enum status status = agent_open(agent, &follower_ops, membership, config);
    if (status != STATUS_OK) {
        free(follower);
        return status;
    }
    status = root_address_find(membership, config->bootstrap->timeout, &follower->root);
    if (status != STATUS_OK)
        follower_end(follower, status);
    follower->call_until = agent->now + config->bootstrap->timeout;
    while (follower->state != FOLLOWER_ENDED) {
        if (follower->state == FOLLOWER_CALLS && follower->connector.state == CALL_NONE &&
            agent->now >= follower->call_again)
            follower_call_root(follower);
        agent_turn(agent, agent->heartbeat / 2);
        follower_heartbeat(follower);
        follower_check_silence(follower);
        follower_check_signal(follower);
    }
    follower_part(follower);
    wire_close(&follower->up);
    connector_drop(&follower->connector);
    agent_close(agent);
    status = follower->status;
    free(follower);
    return status;
}
