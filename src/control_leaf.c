/*
 * control_leaf.c - the helper thread of every rank but 0: it keeps the connection to rank 0.
 *
 * It connects (again and again, as rank 0 may start later), proves itself, and from then on carries
 * letters and pulses. When rank 0 cannot be heard any more, the rank ends by itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control_internal.h"
#include "socket.h"

#define SILENT_SECONDS    1.0 /* of rank 0 mean nothing yet, even if the deadline is shorter */
#define ATTEMPT_SECONDS   5.0 /* for one address to answer and to prove itself */
#define RETRY_SECONDS     0.1
#define REPORTED_SECONDS  0.5 /* that a rank which fails waits for rank 0 to have reported */
#define INTERRUPT_SECONDS 0.7 /* that an interrupted rank waits for rank 0's verdict */

struct leaf {
    struct control *control;
    struct wire wire;
    bool connected;       /* nothing is sent or received otherwise */
    double heard, pulsed; /* when rank 0 was heard, when this rank last pulsed */
    double interrupted;   /* when a signal was passed on; 0: none */
    struct reading sent;  /* the last pulse */
    const char *outcomes[HOME_ADDRESSES_MOST]; /* of the attempts at each of rank 0's addresses */
    int spare;          /* which of rank 0's spare ports they are at; 0: at its first */
    char stranger[160]; /* what was found at a port where rank 0 may be, but is not */
};

static bool leaf_must_stop(struct leaf *leaf)
{
    return leaf->control->signal || leaf->control->lost == 0 || control_is_closing(leaf->control);
}

/* ---- connecting ---- */

enum attempt {
    ATTEMPT_DONE,
    ATTEMPT_AGAIN,
    ATTEMPT_FOREIGN, /* another program listens there: hopeless, if that is the only address */
    ATTEMPT_HOPELESS,
};

/* Steps the handshake until it ends one way or the other. */
static enum attempt leaf_shake_hands(struct leaf *leaf, int fd, double until, const char **outcome)
{
    struct control *control = leaf->control;
    const struct membership *membership = &control->membership;
    struct hello hello;
    unsigned char bytes[HANDSHAKE_HELLO_MOST];
    hello_fill(&hello, membership, control->options);
    struct handshake *handshake = handshake_create(fd, false, membership->secret, "control", bytes,
                                                   hello_encode(&hello, bytes));
    if (!handshake)
        return ATTEMPT_AGAIN;
    enum handshake_state state;
    while ((state = handshake_step(handshake)) == HANDSHAKE_PENDING && !leaf_must_stop(leaf) &&
           control->now < until)
        control_wait(control, fd, handshake_events(handshake), control->heartbeat);
    *outcome = handshake_reason(handshake);
    enum attempt attempt = ATTEMPT_HOPELESS;
    if (state == HANDSHAKE_DONE)
        attempt = ATTEMPT_DONE;
    else if (state == HANDSHAKE_PENDING || handshake_lost(handshake))
        attempt = ATTEMPT_AGAIN;
    else if (handshake_foreign(handshake))
        attempt = ATTEMPT_FOREIGN;
    handshake_free(handshake);
    return attempt;
}

static enum attempt leaf_try(struct leaf *leaf, int route, double until)
{
    struct control *control = leaf->control;
    const char **outcome = &leaf->outcomes[route];
    int fd = socket_connect(&control->routes[route]), error = errno;
    if (fd >= 0) {
        bool answered;
        while (!(answered = control_wait(control, fd, POLLOUT, control->heartbeat)) &&
               control->now < until)
            if (leaf_must_stop(leaf))
                break;
        error = answered ? socket_connect_result(fd) : ETIMEDOUT;
    }
    if (fd < 0 || error) {
        /* An attempt that the deadline cut short says less than an answered one before it. */
        if (error != ETIMEDOUT || !*outcome)
            *outcome = error == ETIMEDOUT ? "no answer" : strerrordesc_np(error);
        if (fd >= 0)
            close(fd);
        return ATTEMPT_AGAIN;
    }
    enum attempt attempt = leaf_shake_hands(leaf, fd, until, outcome);
    if (attempt == ATTEMPT_DONE)
        leaf->wire.fd = fd;
    else
        close(fd);
    return attempt;
}

/* Rank 0 cannot be reached, or somebody else was: says what came of each address. */
static void leaf_give_up(struct leaf *leaf, bool hopeless)
{
    struct control *control = leaf->control;
    const char *interface = control->membership.interface;
    char tried[700];
    if (leaf->stranger[0])
        snprintf(tried, sizeof tried, "%s", leaf->stranger);
    else
        routes_text(control->routes, leaf->outcomes, control->route_count, tried, sizeof tried);
    if (hopeless)
        fail(STATUS_ERROR,
             "what listens at %s is not rank 0 of this job (%s); if it should be, give all ranks "
             "the same CCTEST_SECRET or CCTEST_SECRET_FILE, else use another port",
             control->root_place, tried);
    else
        fail(STATUS_TIMEOUT,
             "rank 0 could not be reached at %s for %.3g s (%s): is it running there%s%s?",
             control->root_place, control->config.timeout, tried,
             interface ? ", and is that its address on --interface " : "",
             interface ? interface : "");
    control_conclude(control, hopeless ? STATUS_ERROR : STATUS_TIMEOUT);
}

/* Another job's rank 0 may have been faster; ours listens at another port then. */
static void leaf_skip_stranger(struct leaf *leaf, int route)
{
    const struct membership *membership = &leaf->control->membership;
    snprintf(leaf->stranger, sizeof leaf->stranger, "what listens at port %d %s",
             membership->root_port + leaf->spare, leaf->outcomes[route]);
}

/* Turns to the next port at which rank 0 may be; false: all were tried, and this is the first. */
static bool leaf_next_port(struct leaf *leaf)
{
    struct control *control = leaf->control;
    int spares = control->membership.spare_ports;
    leaf->spare = leaf->spare < spares ? leaf->spare + 1 : 0;
    for (int i = 0; i < control->route_count && spares > 0; i++)
        control->routes[i].port = htons((in_port_t)(control->membership.root_port + leaf->spare));
    return leaf->spare > 0;
}

/* Goes through all addresses again and again, as rank 0 may start later. One that does not answer
 * leaves time for the others. */
/* Somebody ended it, or rank 0 has died; then the supervisor has said so. */
static void leaf_stop(struct leaf *leaf)
{
    struct control *control = leaf->control;
    if (control->signal)
        fail(STATUS_INTERRUPTED, "%s before it had reached rank 0", control_signal_name(control));
    control_conclude(control, control->signal ? STATUS_INTERRUPTED : STATUS_TIMEOUT);
}

static bool leaf_connect(struct leaf *leaf)
{
    struct control *control = leaf->control;
    double until = control->now + control->config.timeout, most = ATTEMPT_SECONDS;
    bool spares = control->membership.spare_ports > 0;
    if (control->route_count > 1 || spares)
        most = fmin(most, control->config.timeout / (2 * (control->route_count + spares)));
    for (;;) {
        int foreign = 0;
        bool hopeless = false;
        for (int i = 0; i < control->route_count; i++) {
            enum attempt attempt = leaf_try(leaf, i, fmin(until, control->now + most));
            if (attempt == ATTEMPT_DONE)
                return true;
            if (leaf_must_stop(leaf)) {
                leaf_stop(leaf);
                return false;
            }
            if (attempt != ATTEMPT_AGAIN && spares) {
                leaf_skip_stranger(leaf, i);
                continue;
            }
            foreign += attempt == ATTEMPT_FOREIGN;
            hopeless = hopeless || attempt == ATTEMPT_HOPELESS || foreign == control->route_count;
        }
        if (leaf_next_port(leaf))
            continue;
        if (hopeless || control->now >= until) {
            leaf_give_up(leaf, hopeless);
            return false;
        }
        control_wait(control, -1, 0, RETRY_SECONDS);
    }
}

/* ---- connected ---- */

static void leaf_send(struct leaf *leaf, int type, const void *data, size_t size)
{
    if (leaf->connected && !wire_put(&leaf->wire, type, data, size)) {
        say("out of memory for a message of %zu bytes to rank 0", size);
        control_conclude(leaf->control, STATUS_ERROR);
    }
}

static const char *leaf_root_name(struct leaf *leaf, char *text, size_t size)
{
    const struct control *control = leaf->control;
    if (control->members[0].pid)
        snprintf(text, size, "rank 0 (host %s, pid %ld)", control->members[0].host,
                 control->members[0].pid);
    else
        snprintf(text, size, "rank 0 (%s)", control->root_place);
    return text;
}

/* Rank 0 cannot be reached any more: nobody will say so for this rank. */
static void leaf_is_alone(struct leaf *leaf, const char *why)
{
    struct control *control = leaf->control;
    leaf->connected = false;
    if (atomic_load(&control->ended))
        return;
    char root[320];
    leaf_root_name(leaf, root, sizeof root);
    if (control->joined)
        say("%s cannot be reached any more: %s; this rank ends", root, why);
    else
        fail(STATUS_TIMEOUT, "%s cannot be reached any more: %s, before all ranks had joined", root,
             why);
    control_conclude(control, STATUS_TIMEOUT);
}

static void leaf_pulse(struct leaf *leaf, bool at_once)
{
    struct control *control = leaf->control;
    struct reading reading;
    pulse_read(&control->pulse, &reading);
    double since = control->now - leaf->pulsed;
    bool changed = memcmp(&reading, &leaf->sent, sizeof reading) != 0;
    at_once = at_once || reading.phase != leaf->sent.phase;
    if (since < (changed ? (at_once ? 0 : control->look * 0.9) : control->heartbeat))
        return;
    struct bytes bytes = {0};
    reading_encode(&reading, &bytes);
    if (!bytes.failed)
        leaf_send(leaf, FRAME_PULSE, bytes.data, bytes.size);
    bytes_free(&bytes);
    leaf->sent = reading;
    leaf->pulsed = control->now;
}

static bool leaf_welcome(struct leaf *leaf, const struct frame *frame)
{
    struct control *control = leaf->control;
    if (control->joined ||
        !members_decode(frame->data, frame->size, control->membership.ranks, control->members))
        return false;
    control_set_joined(control);
    leaf_pulse(leaf, true);
    return true;
}

static bool leaf_refused(struct leaf *leaf, const struct notice *notice)
{
    if (notice->status == STATUS_OK)
        return false;
    if (notice->personal)
        fail(notice->status, "%s", notice->text);
    control_conclude(leaf->control, notice->status);
    leaf_send(leaf, FRAME_GOODBYE, NULL, 0);
    return true;
}

static bool leaf_verdict(struct leaf *leaf, const struct notice *notice)
{
    if (notice->status != STATUS_OK)
        say_verbose(2, "rank 0 has ended the job: %s", notice->text);
    control_conclude(leaf->control, notice->status);
    leaf_send(leaf, FRAME_GOODBYE, NULL, 0);
    return true;
}

/* false: rank 0 would not send this. */
static bool leaf_handle(struct leaf *leaf, const struct frame *frame)
{
    struct notice notice;
    switch (frame->type) {
    case FRAME_PULSE:
        return true;
    case FRAME_WELCOME:
        return leaf_welcome(leaf, frame);
    case FRAME_REFUSED:
        return notice_decode(frame->data, frame->size, &notice) && leaf_refused(leaf, &notice);
    case FRAME_RESULT:
        control_deliver(leaf->control, frame->type, frame->data, frame->size);
        return true;
    case FRAME_VERDICT:
        return notice_decode(frame->data, frame->size, &notice) && leaf_verdict(leaf, &notice);
    default:
        return false;
    }
}

static void leaf_receive(struct leaf *leaf)
{
    bool open = wire_fill(&leaf->wire);
    struct frame frame;
    enum frame_state state;
    while ((state = wire_take(&leaf->wire, &frame)) == FRAME_WHOLE) {
        leaf->heard = leaf->control->now;
        if (!leaf_handle(leaf, &frame)) {
            state = FRAME_BAD;
            break;
        }
    }
    if (state == FRAME_BAD)
        leaf_is_alone(leaf, "it sent what makes no sense");
    else if (!open)
        leaf_is_alone(leaf, "its connection broke (killed, or crashed?)");
}

/* Tells rank 0 that this rank ends, and why. */
static void leaf_send_failure(struct leaf *leaf, enum status status, const char *why)
{
    struct notice notice = {.status = status};
    struct bytes bytes = {0};
    snprintf(notice.text, sizeof notice.text, "%s", why);
    notice_encode(&notice, &bytes);
    if (!bytes.failed)
        leaf_send(leaf, FRAME_FAILED, bytes.data, bytes.size);
    bytes_free(&bytes);
}

/* A signal came: rank 0 gets to know it, and is given a moment to end the job for all. */
static void leaf_interrupt(struct leaf *leaf)
{
    struct control *control = leaf->control;
    if (leaf->interrupted == 0) {
        leaf_send_failure(leaf, STATUS_INTERRUPTED, control_signal_name(control));
        leaf->interrupted = control->now;
    } else if (control->now - leaf->interrupted > INTERRUPT_SECONDS) {
        say("%s, and rank 0 does not answer: this rank ends", control_signal_name(control));
        control_conclude(control, STATUS_INTERRUPTED);
    }
}

/* Rank 0 may only have been stopped: when it goes on, it is to read why nobody is there any
 * more. */
static void leaf_check_root(struct leaf *leaf)
{
    double silence = leaf->control->now - leaf->heard;
    if (silence <= fmax(leaf->control->config.timeout, SILENT_SECONDS))
        return;
    char why[120];
    snprintf(why, sizeof why, "rank 0 was silent for %.3g s (it was stopped?), so this rank ended",
             silence);
    leaf_send_failure(leaf, STATUS_TIMEOUT, why);
    if (leaf->connected)
        wire_flush(&leaf->wire);
    snprintf(why, sizeof why, "it has been silent for %.3g s (stopped, or is its host down?)",
             silence);
    leaf_is_alone(leaf, why);
}

/* Between the events: what this rank has to say, and whether rank 0 still lives. */
static void leaf_tend(struct leaf *leaf)
{
    struct control *control = leaf->control;
    struct letter *letter = control_take_outbox(control), *next;
    if (control->joined && !atomic_load(&control->ended))
        leaf_pulse(leaf, letter != NULL);
    for (; letter; letter = next) {
        next = letter->next;
        leaf_send(leaf, letter->type, letter->data, letter->size);
        free(letter);
    }
    if (atomic_load(&control->ended))
        return;
    if (control->signal)
        leaf_interrupt(leaf);
    leaf_check_root(leaf);
}

/* Launchers end a job as soon as one of its processes fails, so rank 0 goes first: it closes when
 * it has reported. */
static bool leaf_may_close(struct leaf *leaf)
{
    struct control *control = leaf->control;
    return control_is_closing(control) && (!leaf->connected || control->verdict == STATUS_OK ||
                                           control->now - control->ended_at > REPORTED_SECONDS);
}

void control_leaf_run(struct control *control)
{
    struct leaf leaf = {.control = control, .wire.fd = -1};
    control_advance_clock(control);
    if (leaf_connect(&leaf)) {
        leaf.connected = true;
        leaf.heard = leaf.pulsed = control->now;
    }
    while (!leaf_may_close(&leaf)) {
        short wanted = (short)(POLLIN | (wire_pending(&leaf.wire) ? POLLOUT : 0));
        short events =
            control_wait(control, leaf.connected ? leaf.wire.fd : -1, wanted, control->look);
        if (leaf.connected && (events & ~POLLOUT))
            leaf_receive(&leaf);
        leaf_tend(&leaf);
        if (leaf.connected && wire_pending(&leaf.wire) && !wire_flush(&leaf.wire))
            leaf_receive(&leaf); /* a verdict may have come before the connection broke */
        control_watch_main(control);
    }
    wire_close(&leaf.wire);
}
