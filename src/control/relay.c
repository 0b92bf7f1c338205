/*
 * relay.c - the helper thread of every rank but 0: it speaks with rank 0, and lets those
 * below it do so.
 *
 * It carries letters and pulses up, each in the name of the rank whose words they are, and what
 * rank 0 says down to all; of what others say it understands no more than it must to know when they
 * have gone. When rank 0 cannot be heard any more, the rank ends by itself.
 */
#include "control/relay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/uplink.h"

#define REPORTED_SECONDS  0.5 /* that a rank which fails waits for rank 0 to have reported */
#define INTERRUPT_SECONDS 0.7 /* that an interrupted rank waits for rank 0's verdict */
#define OWN_POLLS         5   /* wake, signals, up, voice, call */

/* ---- upwards ---- */

static void relay_say_self(struct relay *relay, int type, const void *data, size_t size)
{
    relay_say(relay, relay->control->membership.rank, type, data, size);
}

/* Tells rank 0 that a rank ends, and why. */
static void relay_say_failure(struct relay *relay, int rank, const struct failure *failure)
{
    struct bytes bytes = {0};
    failure_encode(failure, &bytes);
    if (!bytes.failed)
        relay_say(relay, rank, FRAME_FAILED, bytes.data, bytes.size);
    bytes_free(&bytes);
}

static void relay_heartbeat(struct relay *relay, bool at_once)
{
    struct control *control = relay->control;
    struct progress_snapshot snapshot;
    progress_read(&control->progress, &snapshot);
    double since = control->helper.now - relay->pulsed;
    bool changed = memcmp(&snapshot, &relay->sent, sizeof snapshot) != 0;
    at_once = at_once || snapshot.phase != relay->sent.phase;
    if (since < (changed ? (at_once ? 0 : control->look * 0.9) : control->heartbeat))
        return;
    struct bytes bytes = {0};
    snapshot_encode(&snapshot, &bytes);
    if (!bytes.failed)
        relay_say_self(relay, FRAME_HEARTBEAT, bytes.data, bytes.size);
    bytes_free(&bytes);
    relay->sent = snapshot;
    relay->pulsed = control->helper.now;
}

/* ---- downwards ---- */

static bool relay_welcome(struct relay *relay, const struct frame *frame)
{
    struct control *control = relay->control;
    if (job_begun(control))
        return !relay_is_direct(relay); /* it comes on two ways where the parent was silent */
    if (!members_decode(frame->data, frame->size, control->membership.ranks, control->members))
        return false;
    control_set_joined(control);
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
    relay_go(relay, &redirect);
    return true;
}

/* The parent cannot reach rank 0 any more; if it was cut off, it takes nobody with it who is not.
 */
static void relay_forsaken(struct relay *relay, const struct notice *notice)
{
    if (relay_is_direct(relay) || job_ended(relay->control)) {
        relay_is_alone(relay, notice->text);
    } else {
        snprintf(relay->reason, sizeof relay->reason, "%s", notice->text);
        relay->forsaken = true;
        relay->call_again = 0;
    }
}

/* false: nobody above would send this. */
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
    case FRAME_VERDICT:
        if (!notice_decode(frame->data, frame->size, &notice))
            return false;
        relay_verdict(relay, &notice);
        return true;
    case FRAME_LATE:
        control_set_late(relay->control);
        return frame->rank == 0;
    case FRAME_ISOLATED:
        if (frame->rank == 0 || !notice_decode(frame->data, frame->size, &notice))
            return false;
        relay_forsaken(relay, &notice);
        return true;
    default:
        return false;
    }
}

/* Reads and passes on what came from above; false: the connection is broken, and why. */
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
        if (frame.rank == 0 && frame.type != FRAME_REDIRECT)
            child_links_send(&relay->children, 0, frame.type, frame.data, frame.size);
        if (!relay_handle(relay, &frame)) {
            state = FRAME_BAD;
            break;
        }
    }
    *why = state == FRAME_BAD      ? "it sent what makes no sense"
           : state == FRAME_FORGED ? "what came over its connection is not what it sent"
                                   : "its connection broke (killed, or crashed?)";
    return wire->fd < 0 || (open && state == FRAME_PART);
}

/* ---- those below ---- */

/* Rank 0 has judged who it sends here, but who comes need not have been sent. */
static bool relay_can_admit(const struct relay *relay, const struct join_request *request)
{
    struct control *control = relay->control;
    char why[1024];
    struct join_request self;
    join_request_fill(&self, &control->membership, control->options);
    return join_request_check(&self, request, why, sizeof why) == STATUS_OK && request->rank > 0 &&
           request->rank != self.rank && !child_links_find(&relay->children, request->rank);
}

/* Who was sent here, and is not taken in, is an orphan, and speaks to rank 0 itself. */
static void relay_admit(void *argument, struct wire *wire, const struct join_request *request)
{
    struct relay *relay = argument;
    const struct child_link child = {
        .wire = *wire, .rank = request->rank, .heard = relay->control->helper.now};
    if (relay->children.count < relay->control->config.fan_out && relay_can_admit(relay, request)) {
        child_links_add(&relay->children, &child);
    } else {
        atomic_fetch_add(&relay->control->strangers, 1);
        wire_close(wire);
    }
}

static bool relay_hear(void *argument, struct child_link *child, const struct frame *frame)
{
    struct relay *relay = argument;
    const struct membership *membership = &relay->control->membership;
    if (frame->rank <= 0 || frame->rank >= membership->ranks || frame->rank == membership->rank)
        return false;
    if (frame->type == FRAME_GOODBYE && frame->rank == child->rank)
        child->through = true;
    relay_say(relay, frame->rank, frame->type, frame->data, frame->size);
    return true;
}

static void relay_lose(void *argument, struct child_link *child, bool nonsense)
{
    struct relay *relay = argument;
    if (nonsense) {
        struct failure failure;
        failure_set(&failure, STATUS_ERROR, "it sent an invalid control message to rank %d",
                    relay->control->membership.rank);
        relay_say_failure(relay, child->rank, &failure);
    }
    if (child->known && !child->through)
        relay_say(relay, child->rank, FRAME_LOST, NULL, 0);
}

static const struct child_link_ops relay_hearer = {.hear = relay_hear, .lose = relay_lose};

/* When all have joined, or none will any more, nobody is to come: the port is given back. */
static void relay_tend_rank_acceptor(struct relay *relay)
{
    struct control *control = relay->control;
    uint64_t strangers = atomic_load(&control->strangers);
    if (strangers > relay->strangers && relay_is_placed(relay)) {
        struct bytes bytes = {0};
        strangers_encode(strangers, &bytes);
        if (!bytes.failed)
            relay_say_self(relay, FRAME_STRANGERS, bytes.data, bytes.size);
        bytes_free(&bytes);
        relay->strangers = strangers;
    }
    if (job_begun(control) || job_ended(control))
        rank_acceptor_close(&relay->rank_acceptor);
}

/* ---- the loop ---- */

/* A signal came: rank 0 gets to know it, as soon as it lets this rank in, which it may have done
 * already; and is given a moment to end the job for all. */
static void relay_interrupt(struct relay *relay)
{
    struct control *control = relay->control;
    const char *signal = control_signal_name(control);
    if (relay->interrupted == 0) {
        struct failure failure;
        failure_set(&failure, STATUS_INTERRUPTED, "%s", signal);
        relay_say_failure(relay, control->membership.rank, &failure);
        relay->interrupted = control->helper.now;
    } else if (control->helper.now - relay->interrupted > INTERRUPT_SECONDS) {
        if (relay_is_placed(relay))
            say("%s, and rank 0 does not answer: this rank ends", signal);
        else
            fail(STATUS_INTERRUPTED, "%s before it had reached rank 0", signal);
        control_conclude(control, STATUS_INTERRUPTED);
    }
}

/* Rank 0 may only have been stopped: when it goes on, it is to read why nobody is there any
 * more. One that has answered, and never says whether this rank stays, is as silent as any. */
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
    relay_say_failure(relay, relay->control->membership.rank, &failure);
    if (relay->up.fd >= 0)
        wire_flush(&relay->up);
    snprintf(
        why, sizeof why,
        "it %shas been silent for %.3g s%s (stopped, or is its host down or this one cut off?)",
        placed ? "" : "answered, and ", silence, placed ? "" : " since");
    relay_is_alone(relay, why);
}

/* Who is alone says it too: rank 0 may only have been stopped. */
static void relay_take_leave(struct relay *relay)
{
    relay->leave = LEAVE_TAKEN;
    int rank = relay->control->membership.rank;
    wire_put(&relay->up, rank, FRAME_GOODBYE, NULL, 0);
    if (relay->voice.fd >= 0)
        wire_put(&relay->voice, rank, FRAME_GOODBYE, NULL, 0);
}

/* Between the events: what this rank has to say, and whether rank 0 still lives. */
static void relay_tend(struct relay *relay)
{
    struct control *control = relay->control;
    struct queued_frame *queued = control_take_outbox(control), *next;
    if (job_begun(control) && !job_ended(control))
        relay_heartbeat(relay, queued != NULL);
    for (; queued; queued = next) {
        next = queued->next;
        relay_say_self(relay, queued->type, queued->data, queued->size);
        free(queued);
    }
    relay_tend_rank_acceptor(relay);
    if (relay->leave == LEAVE_DUE &&
        child_links_through(&relay->children, control->helper.now, DEAF_SECONDS))
        relay_take_leave(relay);
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
    if (relay->up.fd >= 0 && (!relay_receive(relay, &relay->up, &why) || relay->forsaken))
        relay_is_orphan(relay, why);
}

static void relay_read_voice(struct relay *relay)
{
    const char *why;
    if (relay->voice.fd >= 0 && !relay_receive(relay, &relay->voice, &why))
        relay_lose_voice(relay);
}

static void relay_flush(struct relay *relay)
{
    if (relay->up.fd >= 0 && relay_is_placed(relay) && wire_pending(&relay->up) &&
        !wire_flush(&relay->up))
        relay_read_up(relay); /* a verdict may have come before the connection broke */
    if (relay->voice.fd >= 0 && wire_pending(&relay->voice) && !wire_flush(&relay->voice))
        relay_read_voice(relay);
    child_links_flush(&relay->children);
}

static struct pollfd wire_watch(const struct wire *wire, bool speaks)
{
    return (struct pollfd){
        .fd = wire->fd, .events = (short)(POLLIN | (speaks && wire_pending(wire) ? POLLOUT : 0))};
}

static void relay_listen(struct relay *relay)
{
    struct control *control = relay->control;
    struct pollfd *set = relay->polls, *pending = set + OWN_POLLS;
    control_advance_clock(control);
    set[0] = (struct pollfd){.fd = control->wake, .events = POLLIN};
    set[1] = (struct pollfd){.fd = control->signals, .events = POLLIN};
    set[2] = wire_watch(&relay->up, relay_is_placed(relay));
    set[3] = wire_watch(&relay->voice, true);
    set[4] = connector_watch(&relay->call);
    struct pollfd *below =
        pending + acceptor_watch(&relay->rank_acceptor.acceptor, pending, control->helper.now);
    child_links_watch(&relay->children, below);
    control_count_sockets(control, relay->children.count, relay->rank_acceptor.acceptor.count);
    poll(set, (nfds_t)(below - set + relay->children.count), (int)(control->look * 1000) + 1);
    control_read_events(control);
    if (set[2].revents & ~POLLOUT)
        relay_read_up(relay);
    if (set[3].revents & ~POLLOUT)
        relay_read_voice(relay);
    relay_tend_uplink(relay, set[4].revents);
    acceptor_serve(&relay->rank_acceptor.acceptor, pending, control->helper.now);
    child_links_serve(&relay->children, below, control->helper.now, &relay_hearer, relay);
}

/* May it go? Not before those below know how the job ended, and it has said so of them. And
 * launchers end a job as soon as one of its processes fails, so rank 0 goes first: it closes when
 * it has reported. */
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
           (relay->up.fd < 0 || (relay->leave == LEAVE_TAKEN && !wire_pending(&relay->up)));
}

void relay_run(struct control *control)
{
    struct relay relay = {.control = control, .up.fd = -1, .voice.fd = -1};
    relay.polls = calloc(OWN_POLLS + RANK_ACCEPTOR_POLLS + (size_t)control->config.fan_out,
                         sizeof *relay.polls);
    bool open = rank_acceptor_open(&relay.rank_acceptor, control, relay_admit, &relay);
    control_advance_clock(control);
    if (!open || !relay.polls) {
        fail(STATUS_ERROR, "out of memory for the control plane");
        control_conclude(control, STATUS_ERROR);
    } else {
        relay_begin(&relay);
        while (!relay_may_close(&relay)) {
            relay_listen(&relay);
            relay_tend(&relay);
            relay_flush(&relay);
            control_watch_main(control);
        }
    }
    connector_drop(&relay.call);
    wire_close(&relay.up);
    wire_close(&relay.voice);
    child_links_close(&relay.children);
    bytes_free(&relay.failure);
    rank_acceptor_close(&relay.rank_acceptor);
    free(relay.polls);
}
