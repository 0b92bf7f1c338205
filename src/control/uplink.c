/*
 * uplink.c - the way of every rank but 0 to rank 0.
 *
 * It calls rank 0 (again and again, as rank 0 may start later) and proves itself. It stays there,
 * or is sent to a parent that has a place; if that one cannot be reached, it goes back and says so.
 * Later, when its parent dies, or does not bring rank 0's beats any more (it was stopped, or has
 * lost rank 0 itself), it calls rank 0 once more and speaks there, for itself and for those below
 * it; when the parent brings them again, it goes back to it. When rank 0 cannot be reached any more,
 * it is alone, and ends.
 */
#include "control/uplink.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ATTEMPT_SECONDS 5.0 /* for one address of rank 0 to answer and to prove itself */
#define PARENT_SECONDS  3.0 /* for one of a parent */
#define RETRY_SECONDS   0.1 /* ... at first; of those that had a place, twice as long each time, */
#define RETRY_MOST      2.0 /* up to this: all ranks may have lost rank 0 at once */
#define REFUSALS_MOST   3   /* rank 0 listens as long as it lives */
#define ORPHAN_BEATS    2.5 /* of rank 0 that are missing; at 3, it calls a rank silent, */
#define ORPHAN_SHARE    12  /* but only when the deadline has passed: so much may pass first, */
#define ORPHAN_SECONDS  2.5 /* though not more than this: it may have a failure to tell */

void relay_say(struct relay *relay, int rank, int type, const void *data, size_t size)
{
    if (relay->alone)
        return;
    if (type == FRAME_FAILED && rank == relay->control->membership.rank) {
        relay->failure.size = 0;
        bytes_put(&relay->failure, data, size);
    }
    bool said = wire_put(&relay->up, rank, type, data, size);
    if (relay->uplink == UPLINK_VOICE)
        said = wire_put(&relay->voice, rank, type, data, size) && said;
    if (!said) {
        say("out of memory for a message of %zu bytes to rank 0", size);
        control_conclude(relay->control, STATUS_ERROR);
    }
}

void relay_must_leave(struct relay *relay)
{
    if (relay->leave == LEAVE_NONE)
        relay->leave = LEAVE_DUE;
}

static const char *relay_root_name(struct relay *relay, char *text, size_t size)
{
    const struct control *control = relay->control;
    if (control->members[0].pid)
        snprintf(text, size, "rank 0 (host %s, pid %ld)", control->members[0].host,
                 control->members[0].pid);
    else
        snprintf(text, size, "rank 0 (%s)", control->helper.root_place);
    return text;
}

/* When rank 0 dies all others lose it, so not all may say so without being asked: the first rank
 * that is left on each host does, as a launcher's ranks are read together; and of those that were
 * started by hand, which may be read one by one, also who spoke to rank 0 itself. Before they know
 * each other's hosts, only these do. */
static bool relay_speaks(const struct relay *relay)
{
    const struct control *control = relay->control;
    const struct member *me = &control->members[control->membership.rank];
    bool direct = relay_is_direct(relay);
    if (!job_begun(control))
        return direct;
    return me->local_rank == (me->node == control->members[0].node) ||
           (direct && control->membership.by_hand);
}

void relay_is_alone(struct relay *relay, const char *why)
{
    struct control *control = relay->control;
    if (relay->alone)
        return;
    relay->alone = true;
    relay_must_leave(relay);
    struct notice notice = {.status = STATUS_TIMEOUT};
    struct bytes bytes = {0};
    snprintf(notice.text, sizeof notice.text, "%s", why);
    notice_encode(&notice, &bytes);
    if (!bytes.failed)
        child_links_send(&relay->children, control->membership.rank, FRAME_ISOLATED, bytes.data,
                         bytes.size);
    bytes_free(&bytes);
    if (job_ended(control))
        return;
    char root[320];
    relay_root_name(relay, root, sizeof root);
    bool speaks = relay_speaks(relay);
    if (job_begun(control) || !speaks)
        say_verbose(speaks ? 0 : 1, "%s cannot be reached any more: %s; this rank ends", root, why);
    else
        fail(STATUS_TIMEOUT, "%s cannot be reached any more: %s, before all ranks had joined", root,
             why);
    control_conclude(control, STATUS_TIMEOUT);
}

static void relay_call_root(struct relay *relay)
{
    static const enum join_reason reasons[] = {
        [UPLINK_FIRST] = JOIN_FIRST,
        [UPLINK_AGAIN] = JOIN_AGAIN,
        [UPLINK_BELOW] = JOIN_ORPHANED,
        [UPLINK_ORPHAN] = JOIN_ORPHANED,
    };
    struct control *control = relay->control;
    struct join_request request;
    join_request_fill(&request, &control->membership, control->options);
    request.home = control->helper.home;
    request.reason = reasons[relay->uplink];
    double seconds =
        fmin(ATTEMPT_SECONDS, fmax(relay->call_until - control->helper.now, RETRY_SECONDS));
    if (request.reason == JOIN_ORPHANED)
        seconds = PARENT_SECONDS;
    int ways = control->helper.route_count + (control->membership.spare_ports > 0);
    if (ways > 1) /* one that does not answer leaves time for the others */
        seconds = fmin(seconds, control->config.timeout / (2 * ways));
    connector_begin(&relay->call, control, 0, &request, control->helper.routes, relay->outcomes,
                    control->helper.route_count, seconds);
}

void relay_begin(struct relay *relay)
{
    relay->call_until = relay->control->helper.now + relay->control->config.timeout;
    relay->wait = RETRY_SECONDS;
    relay->seed = (unsigned)relay->control->membership.rank;
    relay_call_root(relay);
}

void relay_go(struct relay *relay, const struct redirect *redirect)
{
    struct control *control = relay->control;
    struct address routes[ADDRESSES_MOST];
    struct join_request request;
    if (redirect->parent == 0) {
        relay->uplink = UPLINK_DIRECT;
        return;
    }
    relay->uplink = UPLINK_SENT;
    int count = addresses_routes(&control->helper.home, &redirect->home, routes);
    if (relay->up.fd >= 0)
        close(relay->up.fd);
    relay->up.fd = -1;
    join_request_fill(&request, &control->membership, control->options);
    connector_begin(&relay->call, control, redirect->parent, &request, routes,
                    relay->parent_outcomes, count,
                    fmin(PARENT_SECONDS, control->config.timeout / 4));
}

void relay_is_orphan(struct relay *relay, const char *why)
{
    wire_close(&relay->up);
    if (relay->uplink == UPLINK_VOICE) {
        relay->up = relay->voice;
        relay->voice = (struct wire){.fd = -1};
        relay->uplink = UPLINK_DIRECT;
        relay->forsaken = false;
        return;
    }
    if (relay_is_direct(relay))
        relay_is_alone(relay, why);
    if (relay->uplink == UPLINK_BACK) { /* rank 0 closes that one */
        wire_flush(&relay->voice);
        wire_close(&relay->voice);
    }
    relay->uplink = UPLINK_ORPHAN;
}

void relay_lose_voice(struct relay *relay)
{
    bool spoke = relay->uplink == UPLINK_VOICE;
    wire_close(&relay->voice);
    relay->uplink = UPLINK_BELOW;
    if (spoke && job_ended(relay->control)) {
        wire_close(&relay->up); /* rank 0 has gone; the silent parent would not say so */
        relay->uplink = UPLINK_ORPHAN;
    }
}

/* The parent may have been stopped when it was to pass it on, or it was said before rank 0 knew
 * that this rank has arrived; to hear it twice does no harm. */
static void relay_repeat_failure(struct relay *relay, struct wire *wire)
{
    if (relay->failure.size > 0)
        wire_put(wire, relay->control->membership.rank, FRAME_FAILED, relay->failure.data,
                 relay->failure.size);
}

/* Who was called has answered. */
static void relay_reached(struct relay *relay)
{
    static const enum uplink_state next[] = {
        [UPLINK_FIRST] = UPLINK_ASKED,   [UPLINK_AGAIN] = UPLINK_ASKED,
        [UPLINK_SENT] = UPLINK_BELOW,    [UPLINK_BELOW] = UPLINK_VOICE,
        [UPLINK_ORPHAN] = UPLINK_DIRECT,
    };
    struct control *control = relay->control;
    bool voice = relay->uplink == UPLINK_BELOW;
    struct wire *wire = voice ? &relay->voice : &relay->up;
    connector_take(&relay->call, wire);
    relay->refusals = 0;
    relay->wait = RETRY_SECONDS;
    relay->forsaken = false;
    relay->heard = control->helper.now;
    if (!voice)
        relay->parent_heard = control->helper.now;
    if (relay->uplink == UPLINK_SENT)
        relay_say(relay, control->membership.rank, FRAME_ATTACHED, NULL, 0);
    relay->uplink = next[relay->uplink];
    relay_repeat_failure(relay, wire);
}

/* Rank 0 cannot be reached, or somebody else was: says what came of each address. */
static void relay_give_up(struct relay *relay, bool hopeless)
{
    struct control *control = relay->control;
    const char *interface = control->membership.interface;
    char tried[700];
    if (relay->stranger[0])
        snprintf(tried, sizeof tried, "%s", relay->stranger);
    else
        routes_text(control->helper.routes, relay->outcomes, control->helper.route_count, tried,
                    sizeof tried);
    if (hopeless)
        fail(STATUS_ERROR,
             "what listens at %s is not rank 0 of this job (%s); if it should be, give all ranks "
             "the same CCTEST_SECRET or CCTEST_SECRET_FILE, else use another port",
             control->helper.root_place, tried);
    else
        fail(STATUS_TIMEOUT,
             "rank 0 could not be reached at %s for %.3g s (%s): is it running there%s%s?",
             control->helper.root_place, control->config.timeout, tried,
             interface ? ", and is that its address on --interface " : "",
             interface ? interface : "");
    control_conclude(control, hopeless ? STATUS_ERROR : STATUS_TIMEOUT);
}

/* Another job's rank 0 may have been faster; ours listens at another port then. Turns to the next
 * port at which it may be; false: all were tried, and this is the first. */
static bool relay_next_port(struct relay *relay)
{
    struct control *control = relay->control;
    const struct membership *membership = &control->membership;
    if (relay->call.stranger)
        snprintf(relay->stranger, sizeof relay->stranger, "what listens at port %d %s",
                 membership->root_port + relay->spare, relay->call.stranger);
    relay->spare = relay->spare < membership->spare_ports ? relay->spare + 1 : 0;
    for (int i = 0; i < control->helper.route_count; i++)
        control->helper.routes[i].port = htons((in_port_t)(membership->root_port + relay->spare));
    return relay->spare > 0;
}

/* Rank 0 is not there, or did not let this rank in yet. */
static void relay_missed_root(struct relay *relay, bool hopeless)
{
    struct control *control = relay->control;
    if (relay->uplink == UPLINK_FIRST && control->membership.spare_ports > 0) {
        hopeless = false;
        if (relay_next_port(relay)) {
            relay_call_root(relay);
            return;
        }
    }
    if (hopeless || control->helper.now >= relay->call_until)
        relay_give_up(relay, hopeless);
}

/* When to call again: those that wait together do not call together. */
static double relay_next_wait(struct relay *relay)
{
    if (!relay_is_placed(relay))
        return RETRY_SECONDS;
    double most = fmin(RETRY_MOST, relay->control->config.timeout / ORPHAN_SHARE);
    double wait = relay->wait;
    relay->wait = fmin(2 * wait, fmax(most, RETRY_SECONDS));
    return wait * (0.5 + 0.5 * rand_r(&relay->seed) / RAND_MAX);
}

/* Nobody there, or not the one who was meant. */
static void relay_missed(struct relay *relay)
{
    struct control *control = relay->control;
    struct connector *call = &relay->call;
    bool hopeless = call->state == CALL_HOPELESS;
    relay->refusals = call->refused == call->count ? relay->refusals + 1 : 0;
    connector_drop(call);
    relay->call_again = control->helper.now + relay_next_wait(relay);
    if (relay->uplink == UPLINK_SENT) {
        relay->call_until = control->helper.now + control->config.timeout;
        relay->uplink = UPLINK_AGAIN;
        relay_call_root(relay);
    } else if (relay_is_placed(relay)) {
        if (relay->forsaken)
            relay_is_alone(relay, relay->reason);
        else if (hopeless || relay->refusals >= REFUSALS_MOST)
            relay_is_alone(relay, "nobody listens there any more (killed, or crashed?)");
    } else {
        relay_missed_root(relay, hopeless);
    }
}

/* Does it need a way to rank 0, or another one? */
static bool relay_is_unheard(const struct relay *relay)
{
    const struct control *control = relay->control;
    if (relay->uplink != UPLINK_BELOW)
        return relay->up.fd < 0;
    double patience = fmax(ORPHAN_BEATS * control->heartbeat,
                           fmin(ORPHAN_SECONDS, control->config.timeout / ORPHAN_SHARE));
    return control->helper.now - relay->parent_heard > patience;
}

void relay_tend_uplink(struct relay *relay, short call_events)
{
    struct control *control = relay->control;
    enum connector_state state = connector_step(&relay->call, call_events);
    if (relay->alone) {
        connector_drop(&relay->call);
        return;
    }
    if (state == CALL_DONE)
        relay_reached(relay);
    else if (state == CALL_FAILED || state == CALL_HOPELESS)
        relay_missed(relay);
    if (relay->call.state == CALL_NONE && control->helper.now >= relay->call_again &&
        !job_ended(control) && relay_is_unheard(relay))
        relay_call_root(relay);
    if (relay->uplink == UPLINK_VOICE &&
        control->helper.now - relay->parent_heard < control->heartbeat) {
        relay->uplink = UPLINK_BACK;
        wire_put(&relay->voice, control->membership.rank, FRAME_BACK, NULL, 0);
    }
}
