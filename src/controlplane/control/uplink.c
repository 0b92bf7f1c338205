/*
 * uplink.c - the connection of every rank but 0 towards rank 0.
 *
 * A rank calls rank 0 (again and again, since rank 0 may start later) and authenticates. It stays
 * there, or is sent to a parent that has a free place. If it cannot reach that parent, it returns
 * to rank 0 and says so.
 *
 * Later the parent may die, or bring no heartbeats of rank 0 any more (it was stopped, or has lost
 * rank 0 itself). Then the rank calls rank 0 once more and sends there, too, for itself and its
 * children, until the parent brings heartbeats again. If rank 0 cannot be reached any more, the
 * rank is isolated, and ends.
 */
#include "controlplane/control/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ATTEMPT_SECONDS 5.0 /* for one address of rank 0 to answer and to authenticate */
#define PARENT_SECONDS  3.0 /* for one address of a parent */
#define RETRY_SECONDS   0.1 /* between two calls. A placed rank doubles it each time, */
#define RETRY_MOST      2.0 /* up to this: all ranks may have lost rank 0 at once */
#define REFUSALS_MOST   3   /* rank 0 listens as long as it lives */
#define REJECTIONS_MOST 3   /* a packet that was corrupted looks like a stranger's, once */
/* A rank calls rank 0 itself when the parent has brought nothing of it for so many heartbeats (at 3
 * rank 0 calls a rank silent), or for this share of the deadline if that is longer, but not for
 * more seconds than this: it may have a failure to report. */
#define ORPHAN_HEARTBEATS 2.5
#define ORPHAN_SHARE      12
#define ORPHAN_SECONDS    2.5

void relay_send(struct relay *relay, int rank, int type, const void *data, size_t size)
{
    if (relay->uplink == UPLINK_ISOLATED)
        return;
    if (type == FRAME_FAILED && rank == relay->control->membership.rank) {
        relay->failure.size = 0;
        bytes_put(&relay->failure, data, size);
    }
    wire_put(&relay->up, rank, type, data, size);
    if (relay->uplink == UPLINK_BOTH)
        wire_put(&relay->direct, rank, type, data, size);
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
        snprintf(text, size, "rank 0 (%s)", control->helper.root.place);
    return text;
}

/* If rank 0 dies or hangs, every rank notices. To avoid a copy of one message from each, only the
 * first rank that is left on each host prints it. Ranks that were started by hand may have a
 * terminal each, so there each rank that was connected to rank 0 prints it, too. Before the ranks
 * know each other's hosts, only the connected ones do. */
bool relay_reports(const struct relay *relay)
{
    const struct control *control = relay->control;
    const struct member *me = &control->members[control->membership.rank];
    bool direct = relay_is_direct(relay);
    if (!job_begun(control))
        return direct;
    return me->local_rank == (me->node == control->members[0].node) ||
           (direct && control->membership.by_hand);
}

void relay_isolate(struct relay *relay, const char *why)
{
    struct control *control = relay->control;
    bool reports = relay_reports(relay);
    if (relay->uplink == UPLINK_ISOLATED)
        return;
    relay->uplink = UPLINK_ISOLATED;
    relay_must_leave(relay);
    struct notice notice = {.status = STATUS_TIMEOUT};
    struct bytes bytes = {0};
    snprintf(notice.text, sizeof notice.text, "%s", why);
    notice_encode(&notice, &bytes);
    child_links_send(&relay->children, control->membership.rank, FRAME_ISOLATED, bytes.data,
                     bytes.size);
    bytes_free(&bytes);
    if (job_ended(control))
        return;
    char root[320];
    relay_root_name(relay, root, sizeof root);
    if (job_begun(control) || !reports)
        say_verbose(reports ? 0 : 1, "%s cannot be reached any more: %s; this rank ends", root,
                    why);
    else
        fail(STATUS_TIMEOUT, "%s cannot be reached any more: %s, before all ranks had joined", root,
             why);
    control_conclude(control, STATUS_TIMEOUT);
}

/* Calls a rank at `routes`. */
static void relay_call(struct relay *relay, int rank, const struct join_request *request,
                       const struct address *routes, const char **outcomes, int count,
                       double seconds)
{
    struct connector *call = &relay->connector;
    *call = (struct connector){.secret = relay->control->membership.secret,
                               .purpose = CONTROL_PURPOSE,
                               .rank = rank,
                               .is_right = join_request_is_of};
    call->hello_size = join_request_encode(request, call->hello);
    connector_begin(call, routes, outcomes, count, seconds, relay->control->helper.now);
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
    int targets = control->helper.root.count + (control->membership.spare_ports > 0);
    if (targets > 1) /* one that does not answer leaves time for the others */
        seconds = fmin(seconds, control->config.timeout / (2 * targets));
    relay_call(relay, 0, &request, control->helper.root.routes, relay->outcomes,
               control->helper.root.count, seconds);
}

void relay_begin(struct relay *relay)
{
    relay->call_until = relay->control->helper.now + relay->control->config.timeout;
    relay->wait = RETRY_SECONDS;
    relay->seed = (unsigned)relay->control->membership.rank;
    relay_call_root(relay);
}

void relay_follow(struct relay *relay, const struct redirect *redirect)
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
    relay_call(relay, redirect->parent, &request, routes, relay->parent_outcomes, count,
               fmin(PARENT_SECONDS, control->config.timeout / 4));
}

void relay_lose_parent(struct relay *relay, const char *why)
{
    bool both = relay->uplink == UPLINK_BOTH;
    wire_close(&relay->up);
    if (both || (relay->uplink == UPLINK_ISOLATED && relay->direct.fd >= 0)) {
        relay->up = relay->direct;
        relay->direct = (struct wire){.fd = -1};
        relay->uplink = both ? UPLINK_DIRECT : UPLINK_ISOLATED;
        relay->parent_isolated[0] = '\0';
        return;
    }
    if (relay_is_direct(relay))
        relay_isolate(relay, why);
    if (relay->uplink == UPLINK_RETURNING) { /* rank 0 closes that connection */
        wire_flush(&relay->direct);
        wire_close(&relay->direct);
    }
    if (relay->uplink != UPLINK_ISOLATED)
        relay->uplink = UPLINK_ORPHAN;
}

void relay_lose_direct(struct relay *relay)
{
    bool both = relay->uplink == UPLINK_BOTH;
    wire_close(&relay->direct);
    if (relay->uplink == UPLINK_ISOLATED)
        return;
    relay->uplink = UPLINK_BELOW;
    if (both && job_ended(relay->control)) {
        wire_close(&relay->up); /* rank 0 has gone; the silent parent would not say so */
        relay->uplink = UPLINK_ORPHAN;
    }
}

/* A stopped parent may not have passed the failure on, or it came to rank 0 before rank 0 knew that
 * this rank has arrived. Rank 0 counts it once. */
static void relay_repeat_failure(struct relay *relay, struct wire *wire)
{
    if (relay->failure.size > 0)
        wire_put(wire, relay->control->membership.rank, FRAME_FAILED, relay->failure.data,
                 relay->failure.size);
}

/* The called rank has answered and authenticated. */
static void relay_connected(struct relay *relay)
{
    static const enum uplink_state next[] = {
        [UPLINK_FIRST] = UPLINK_ASKED,   [UPLINK_AGAIN] = UPLINK_ASKED,
        [UPLINK_SENT] = UPLINK_BELOW,    [UPLINK_BELOW] = UPLINK_BOTH,
        [UPLINK_ORPHAN] = UPLINK_DIRECT,
    };
    struct control *control = relay->control;
    bool direct = relay->uplink == UPLINK_BELOW;
    struct wire *wire = direct ? &relay->direct : &relay->up;
    wire_connect(wire, relay->connector.fd, &relay->connector.keys);
    connector_taken(&relay->connector);
    relay->refusals = relay->rejections = 0;
    relay->wait = RETRY_SECONDS;
    relay->parent_isolated[0] = '\0';
    relay->heard = control->helper.now;
    if (!direct)
        relay->parent_heard = control->helper.now;
    if (!relay_is_placed(relay))
        relay_send(relay, control->membership.rank, FRAME_ATTACHED, NULL, 0);
    relay->uplink = next[relay->uplink];
    relay_repeat_failure(relay, wire);
}

/* Rank 0 cannot be reached, or another program was: reports the outcome of each address. */
static void relay_give_up(struct relay *relay, bool hopeless)
{
    struct control *control = relay->control;
    const char *interface = control->membership.interface;
    char tried[700];
    if (relay->foreign[0])
        snprintf(tried, sizeof tried, "%s", relay->foreign);
    else
        routes_text(control->helper.root.routes, relay->outcomes, control->helper.root.count, tried,
                    sizeof tried);
    if (hopeless)
        fail(STATUS_ERROR,
             "the process at %s is not rank 0 of this job (%s); if rank 0 runs there, give all "
             "ranks the same CCTEST_SECRET or CCTEST_SECRET_FILE, else use another port",
             control->helper.root.place, tried);
    else
        fail_option(STATUS_TIMEOUT, interface ? "interface" : "",
                    "rank 0 could not be reached at %s for %.3g s (%s): is it running there%s%s?",
                    control->helper.root.place, control->config.timeout, tried,
                    interface ? ", and is that its address on --interface " : "",
                    interface ? interface : "");
    control_conclude(control, hopeless ? STATUS_ERROR : STATUS_TIMEOUT);
}

/* If another job took the first port, rank 0 listens at one of the spare ports. Turns to the next
 * of them; false: all were tried, and the first is next. */
static bool relay_next_port(struct relay *relay)
{
    struct root_address *root = &relay->control->helper.root;
    if (relay->connector.rejection)
        snprintf(relay->foreign, sizeof relay->foreign, "the process at port %d %s",
                 root->membership->root_port + root->spare_port, relay->connector.rejection);
    return root_address_next_port(root);
}

/* Rank 0 is not there, or did not accept this rank yet. */
static void relay_call_failed_at_root(struct relay *relay, bool hopeless)
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

/* Seconds until the next call, with jitter: ranks that lost rank 0 together do not call
 * together. */
static double relay_next_wait(struct relay *relay)
{
    if (!relay_is_placed(relay))
        return RETRY_SECONDS;
    double most = fmin(RETRY_MOST, relay->control->config.timeout / ORPHAN_SHARE);
    double wait = relay->wait;
    relay->wait = fmin(2 * wait, fmax(most, RETRY_SECONDS));
    return wait * (0.5 + 0.5 * rand_r(&relay->seed) / RAND_MAX);
}

/* No process answered, or another one than was called. */
static void relay_call_failed(struct relay *relay)
{
    struct control *control = relay->control;
    struct connector *connector = &relay->connector;
    relay->rejections = connector->state == CALL_HOPELESS ? relay->rejections + 1 : 0;
    bool hopeless = relay->rejections >= REJECTIONS_MOST;
    relay->refusals = connector->refused == connector->count ? relay->refusals + 1 : 0;
    connector_drop(connector);
    relay->call_again = control->helper.now + relay_next_wait(relay);
    if (relay->uplink == UPLINK_SENT) {
        relay->call_until = control->helper.now + control->config.timeout;
        relay->uplink = UPLINK_AGAIN;
        relay_call_root(relay);
    } else if (relay_is_placed(relay)) {
        if (relay->parent_isolated[0])
            relay_isolate(relay, relay->parent_isolated);
        else if (hopeless || relay->refusals >= REFUSALS_MOST)
            relay_isolate(relay, "no process listens there any more (killed, or crashed?)");
    } else {
        relay_call_failed_at_root(relay, hopeless);
    }
}

/* Does it need a connection to rank 0, or a second one? */
static bool relay_must_call(const struct relay *relay)
{
    const struct control *control = relay->control;
    if (relay->uplink != UPLINK_BELOW)
        return relay->up.fd < 0;
    double patience = fmax(ORPHAN_HEARTBEATS * control->heartbeat,
                           fmin(ORPHAN_SECONDS, control->config.timeout / ORPHAN_SHARE));
    return control->helper.now - relay->parent_heard > patience;
}

void relay_tend_uplink(struct relay *relay, short connector_events)
{
    struct control *control = relay->control;
    enum connector_state state =
        connector_step(&relay->connector, connector_events, control->helper.now);
    if (relay->uplink == UPLINK_ISOLATED) {
        connector_drop(&relay->connector);
        return;
    }
    if (state == CALL_DONE)
        relay_connected(relay);
    else if (state == CALL_FAILED || state == CALL_HOPELESS)
        relay_call_failed(relay);
    if (relay->connector.state == CALL_NONE && control->helper.now >= relay->call_again &&
        !job_ended(control) && relay_must_call(relay))
        relay_call_root(relay);
    if (relay->uplink == UPLINK_BOTH &&
        control->helper.now - relay->parent_heard < control->heartbeat) {
        relay->uplink = UPLINK_RETURNING;
        wire_put(&relay->direct, control->membership.rank, FRAME_RETURNED, NULL, 0);
    }
}
