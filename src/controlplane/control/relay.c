/*
 * relay.c - the helper thread of every rank but 0: it connects this rank and its children to rank
 * 0.
 *
 * It passes frames of its children up, each with the rank that it comes from, and frames of rank 0
 * down to all of them. Of its children's frames it reads no more than it needs to know when they
 * have gone, and their maxima, which it reduces to one. When rank 0 is silent for too long, the
 * rank ends by itself.
 */
#include "controlplane/control/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

#define REPORTED_SECONDS  0.5 /* for rank 0 to report a failed job before this rank ends */
#define INTERRUPT_SECONDS 0.7 /* for rank 0's verdict after a signal */
#define OWN_POLLS         (CONTROL_POLLS + 3) /* up, direct, connector */

/* ---- upwards ---- */

static void relay_send_own(struct relay *relay, int type, const void *data, size_t size)
{
    relay_send(relay, relay->control->membership.rank, type, data, size);
}

/* Reports to rank 0 that a rank ends, and why. */
static void relay_send_failure(struct relay *relay, int rank, const struct failure *failure)
{
    struct bytes bytes = {0};
    failure_encode(failure, &bytes);
    relay_send(relay, rank, FRAME_FAILED, bytes.data, bytes.size);
    bytes_free(&bytes);
}

static void relay_heartbeat(struct relay *relay, bool at_once)
{
    struct control *control = relay->control;
    struct progress_snapshot snapshot;
    control_snapshot(control, &snapshot);
    double since = control->helper.now - relay->heartbeat_at;
    bool changed = memcmp(&snapshot, &relay->sent, sizeof snapshot) != 0;
    at_once = at_once || snapshot.phase != relay->sent.phase;
    if (since < (changed ? (at_once ? 0 : control->look * 0.9) : control->heartbeat))
        return;
    struct bytes bytes = {0};
    snapshot_encode(&snapshot, &bytes);
    relay_send_own(relay, FRAME_HEARTBEAT, bytes.data, bytes.size);
    bytes_free(&bytes);
    relay->sent = snapshot;
    relay->heartbeat_at = control->helper.now;
}

/* ---- downwards ---- */

static bool relay_welcome(struct relay *relay, const struct frame *frame)
{
    struct control *control = relay->control;
    if (job_begun(control))
        return !relay_is_direct(relay); /* the parent and rank 0 may both send it */
    if (!members_decode(frame->data, frame->size, control->membership.ranks, control->members))
        return false;
    control_advance(control, JOB_JOINING, JOB_RUNNING);
    relay_heartbeat(relay, true);
    return true;
}

static bool relay_refused(struct relay *relay, const struct notice *notice)
{
    if (notice->status == STATUS_OK)
        return false;
    if (notice->personal)
        fail(notice->status, "%s", notice->text);
    control_conclude(relay->control, notice->status);
    relay_must_leave(relay);
    return true;
}

static void relay_verdict(struct relay *relay, const struct notice *notice)
{
    if (notice->status != STATUS_OK && !job_ended(relay->control))
        say_verbose(2, "rank 0 has ended the job: %s", notice->text);
    control_conclude(relay->control, notice->status);
    relay_must_leave(relay);
}

static bool relay_redirect(struct relay *relay, const struct frame *frame)
{
    struct redirect redirect;
    if (relay->uplink != UPLINK_ASKED ||
        !redirect_decode(frame->data, frame->size, relay->control->membership.ranks, &redirect))
        return false;
    relay_follow(relay, &redirect);
    return true;
}

/* The parent cannot reach rank 0 any more. Its connection may be the cause, so this rank tries once
 * itself. */
static void relay_parent_isolated(struct relay *relay, const struct notice *notice)
{
    const char *why = notice->text[0] ? notice->text : "its parent cannot reach it";
    if (relay_is_direct(relay) || job_ended(relay->control)) {
        relay_isolate(relay, why);
    } else {
        snprintf(relay->parent_isolated, sizeof relay->parent_isolated, "%s", why);
        relay->call_again = 0;
    }
}

/* For this rank, or for one behind a child. A child that has left since has a way of its own to
 * rank 0, by which the same comes. */
static bool relay_delivery(struct relay *relay, const struct frame *frame)
{
    const struct membership *membership = &relay->control->membership;
    struct share result;
    int to;
    if (frame->rank != 0 ||
        !delivery_decode(frame->data, frame->size, membership->ranks, &to, &result))
        return false;
    struct child_link *child = child_links_find(&relay->children, relay->behind[to]);
    if (to == membership->rank)
        control_deliver(relay->control, &result);
    else if (child)
        child_link_send(child, 0, frame->type, frame->data, frame->size);
    return true;
}

/* False: neither the parent nor rank 0 sends this. */
static bool relay_handle(struct relay *relay, const struct frame *frame)
{
    struct notice notice;
    struct share result;
    switch (frame->type) {
    case FRAME_HEARTBEAT:
        return true;
    case FRAME_REDIRECT:
        return relay_redirect(relay, frame);
    case FRAME_WELCOME:
        return relay_welcome(relay, frame);
    case FRAME_REFUSED:
        return notice_decode(frame->data, frame->size, &notice) && relay_refused(relay, &notice);
    case FRAME_RESULT:
        if (!share_decode(frame->data, frame->size, &result))
            return false;
        control_deliver(relay->control, &result);
        return true;
    case FRAME_DELIVERY:
        return relay_delivery(relay, frame);
    case FRAME_VERDICT:
        if (!notice_decode(frame->data, frame->size, &notice))
            return false;
        relay_verdict(relay, &notice);
        return true;
    case FRAME_LATE:
        control_advance(relay->control, JOB_RUNNING, JOB_LATE);
        return frame->rank == 0;
    case FRAME_ISOLATED:
        if (frame->rank == 0 || !notice_decode(frame->data, frame->size, &notice))
            return false;
        relay_parent_isolated(relay, &notice);
        return true;
    default:
        return false;
    }
}

static const char forged[] = "data on its connection failed authentication";

/* Data arrives changed at this rank, but what it sends may get through. */
static void relay_report_forged(struct relay *relay)
{
    struct failure failure;
    failure_set(&failure, STATUS_TIMEOUT, "the data from rank 0 " FORGED);
    relay_send_failure(relay, relay->control->membership.rank, &failure);
    wire_flush(&relay->up);
}

/* Reads frames from above, and passes on frames of rank 0; false: the connection is broken, and
 * why.
 */
static bool relay_receive(struct relay *relay, struct wire *wire, const char **why)
{
    bool open = wire_fill(wire);
    struct frame frame;
    enum frame_state state = FRAME_PART;
    while (wire->fd >= 0 && (state = wire_take(wire, &frame)) == FRAME_WHOLE) {
        if (frame.rank == 0)
            relay->heard = relay->control->helper.now;
        if (frame.rank == 0 && wire == &relay->up)
            relay->parent_heard = relay->control->helper.now;
        if (frame.rank == 0 && frame.type != FRAME_REDIRECT && frame.type != FRAME_DELIVERY)
            child_links_send(&relay->children, 0, frame.type, frame.data, frame.size);
        if (!relay_handle(relay, &frame)) {
            state = FRAME_BAD;
            break;
        }
    }
    *why = state == FRAME_BAD      ? "it sent invalid data"
           : state == FRAME_FORGED ? forged
                                   : "its connection broke (killed, or crashed?)";
    return wire->fd < 0 || (open && state == FRAME_PART);
}

/* ---- children ---- */

/* Rank 0 has checked the ranks that it sends here. Others may come, too. */
static bool relay_can_admit(const struct relay *relay, const struct join_request *request)
{
    struct control *control = relay->control;
    char why[1024];
    struct join_request self;
    join_request_fill(&self, &control->membership, control->options);
    return join_request_check(&self, request, why, sizeof why) == STATUS_OK && request->rank > 0 &&
           request->rank != self.rank && !child_links_find(&relay->children, request->rank);
}

/* A rank that is sent here and rejected calls rank 0 again. */
static void relay_admit(void *argument, struct wire *wire, const struct join_request *request)
{
    struct relay *relay = argument;
    const struct child_link child = {
        .wire = *wire, .rank = request->rank, .heard = relay->control->helper.now};
    if (relay->children.count < relay->control->config.fan_out && relay_can_admit(relay, request)) {
        child_links_add(&relay->children, &child);
    } else {
        atomic_fetch_add(&relay->control->rejected, 1);
        wire_close(wire);
    }
}

static bool relay_received(void *argument, struct child_link *child, const struct frame *frame)
{
    struct relay *relay = argument;
    const struct membership *membership = &relay->control->membership;
    if (frame->rank <= 0 || frame->rank >= membership->ranks || frame->rank == membership->rank)
        return false;
    if (frame->type == FRAME_GOODBYE && frame->rank == child->rank)
        child->state = LINK_THROUGH;
    if (frame->type == FRAME_SHARE)
        relay->behind[frame->rank] = child->rank;
    if (frame->type == FRAME_MAXIMA)
        return relay_take_maxima(relay, frame->data, frame->size);
    relay_send(relay, frame->rank, frame->type, frame->data, frame->size);
    return true;
}

static void relay_lost(void *argument, struct child_link *child, enum link_end end)
{
    struct relay *relay = argument;
    if (end == LINK_INVALID) {
        struct failure failure;
        failure_set(&failure, STATUS_ERROR, "it sent an invalid control message to rank %d",
                    relay->control->membership.rank);
        relay_send_failure(relay, child->rank, &failure);
    }
    if (child->state != LINK_KNOWN)
        return;
    control_set_lost(relay->control, child->rank);
    relay_send(relay, child->rank, FRAME_LOST, "", end == LINK_FORGED ? 1 : 0);
}

static const struct child_link_ops relay_link_ops = {.received = relay_received,
                                                     .lost = relay_lost};

/* Once all ranks have joined, or the job has ended, no child is to come. */
static void relay_tend_rank_acceptor(struct relay *relay)
{
    struct control *control = relay->control;
    if (job_begun(control) || job_ended(control))
        rank_acceptor_close(&relay->rank_acceptor);
}

/* ---- the loop ---- */

/* A signal came. Rank 0 learns of it, if need be once it has accepted this rank, and has a moment
 * to end the job for all. */
static void relay_interrupt(struct relay *relay)
{
    struct control *control = relay->control;
    const char *signal = control_signal_name(control);
    if (relay->interrupted == 0) {
        struct failure failure;
        failure_set(&failure, STATUS_INTERRUPTED, "%s", signal);
        relay_send_failure(relay, control->membership.rank, &failure);
        relay->interrupted = control->helper.now;
    } else if (control->helper.now - relay->interrupted > INTERRUPT_SECONDS) {
        /* A supervisor passes a signal on to all ranks; a launcher, or a user, perhaps to one. */
        bool alone = !control->membership.supervisor || relay_reports(relay);
        if (relay_is_placed(relay))
            say_verbose(alone ? 0 : 1, "%s, and rank 0 does not answer: this rank ends", signal);
        else
            fail(STATUS_INTERRUPTED, "%s before it had reached rank 0", signal);
        control_conclude(control, STATUS_INTERRUPTED);
    }
}

/* Ends this rank when rank 0 is silent for too long. Rank 0 may only have been stopped, so a report
 * for it is left in the socket. A rank 0 that has answered and never says where this rank's place
 * is counts as silent, too. */
static void relay_check_root(struct relay *relay)
{
    bool placed = relay_is_placed(relay);
    double silence = relay->control->helper.now - relay->heard;
    if ((!placed && relay->uplink != UPLINK_ASKED) ||
        silence <= fmax(relay->control->config.timeout, SILENT_SECONDS))
        return;
    char why[120];
    struct failure failure;
    failure_set_peer(&failure, REASON_PEER_LATE, 0,
                     "rank 0 was silent for %.3g s (it was stopped?), so this rank ended", silence);
    relay_send_failure(relay, relay->control->membership.rank, &failure);
    if (relay->up.fd >= 0)
        wire_flush(&relay->up);
    snprintf(
        why, sizeof why,
        "it %shas been silent for %.3g s%s (it is stopped, or its host is down or unreachable)",
        placed ? "" : "answered, and ", silence, placed ? "" : " since");
    relay_isolate(relay, why);
}

/* An isolated rank sends it, too: rank 0 may only have been stopped. */
static void relay_send_goodbye(struct relay *relay)
{
    relay->leave = LEAVE_SENT;
    int rank = relay->control->membership.rank;
    wire_put(&relay->up, rank, FRAME_GOODBYE, NULL, 0);
    if (relay->direct.fd >= 0)
        wire_put(&relay->direct, rank, FRAME_GOODBYE, NULL, 0);
}

/* Between the events: sends what this rank has to send, and checks that rank 0 still lives. */
static void relay_tend(struct relay *relay)
{
    struct control *control = relay->control;
    struct queued_frame *queued = control_take_outbox(control), *next;
    if (job_begun(control) && !job_ended(control))
        relay_heartbeat(relay, queued != NULL);
    for (; queued; queued = next) {
        next = queued->next;
        if (queued->type == FRAME_MAXIMA)
            relay_take_maxima(relay, queued->data, queued->size);
        else
            relay_send_own(relay, queued->type, queued->data, queued->size);
        free(queued);
    }
    relay_tend_maxima(relay);
    relay_tend_rank_acceptor(relay);
    if (relay->leave == LEAVE_DUE &&
        child_links_through(&relay->children, control->helper.now, DEAF_SECONDS))
        relay_send_goodbye(relay);
    if (job_ended(control))
        return;
    if (control->helper.signal)
        relay_interrupt(relay);
    else if (control->helper.lost == 0 && !relay_is_placed(relay))
        control_conclude(control, STATUS_TIMEOUT); /* the supervisor has said that rank 0 died */
    relay_check_root(relay);
}

static void relay_read_up(struct relay *relay)
{
    const char *why;
    if (relay->up.fd < 0 || (relay_receive(relay, &relay->up, &why) && !relay->parent_isolated[0]))
        return;
    if (why == forged && relay_is_direct(relay) && relay->up.fd >= 0)
        relay_report_forged(relay);
    relay_lose_parent(relay, why);
}

static void relay_read_direct(struct relay *relay)
{
    const char *why;
    if (relay->direct.fd >= 0 && !relay_receive(relay, &relay->direct, &why))
        relay_lose_direct(relay);
}

static void relay_flush(struct relay *relay)
{
    if (relay->up.fd >= 0 && relay_is_placed(relay) && wire_pending(&relay->up) &&
        !wire_flush(&relay->up))
        relay_read_up(relay); /* a verdict may have come before the connection broke */
    if (relay->direct.fd >= 0 && wire_pending(&relay->direct) && !wire_flush(&relay->direct))
        relay_read_direct(relay);
    child_links_flush(&relay->children);
}

static void relay_listen(struct relay *relay)
{
    struct control *control = relay->control;
    struct acceptor *acceptor = &relay->rank_acceptor.acceptor;
    struct pollfd own[OWN_POLLS], *set = own + CONTROL_POLLS;
    control_advance_clock(control);
    set[0] = wire_watch(&relay->up, relay_is_placed(relay));
    set[1] = wire_watch(&relay->direct, true);
    set[2] = connector_watch(&relay->connector);
    control_poll(control, &relay->children, acceptor, own, OWN_POLLS,
                 (int)(control->look * 1000) + 1);
    if (set[0].revents & ~POLLOUT)
        relay_read_up(relay);
    if (set[1].revents & ~POLLOUT)
        relay_read_direct(relay);
    relay_tend_uplink(relay, set[2].revents);
    acceptor_serve(acceptor, relay->children.pending, control->helper.now);
    child_links_serve(&relay->children, control->helper.now, &relay_link_ops, relay);
}

/* May it close? Its children must know how the job ended, and rank 0 that they do. Launchers end a
 * job as soon as one of its processes fails, so rank 0 closes first, when it has reported. */
static bool relay_may_close(struct relay *relay)
{
    struct control *control = relay->control;
    if (!control_is_closing(control))
        return false;
    if (relay->closing_at == 0)
        relay->closing_at = control->helper.now;
    bool reported = relay->up.fd < 0 || control->mailbox.status == STATUS_OK ||
                    control->helper.now - control->helper.ended_at > REPORTED_SECONDS;
    if (relay->children.count == 0 || control->helper.now - relay->closing_at > LINGER_SECONDS)
        return reported;
    return reported && child_links_through(&relay->children, control->helper.now, DEAF_SECONDS) &&
           !child_links_pending(&relay->children) &&
           (relay->up.fd < 0 || (relay->leave == LEAVE_SENT && !wire_pending(&relay->up)));
}

void relay_run(struct control *control)
{
    struct relay relay = {.control = control, .up.fd = -1, .direct.fd = -1};
    relay.behind = new_array((size_t)control->membership.ranks, sizeof *relay.behind);
    control_accept(control, &relay.rank_acceptor, relay_admit, &relay);
    control_advance_clock(control);
    maxima_open(&relay.maxima, control->membership.ranks);
    relay_begin(&relay);
    while (!relay_may_close(&relay)) {
        relay_listen(&relay);
        relay_tend(&relay);
        relay_flush(&relay);
        control_watch_main(control);
    }
    connector_drop(&relay.connector);
    wire_close(&relay.up);
    wire_close(&relay.direct);
    child_links_close(&relay.children);
    bytes_free(&relay.failure);
    rank_acceptor_close(&relay.rank_acceptor);
    free(relay.behind);
    maxima_close(&relay.maxima);
}
