/*
 * connector.c - connects to another rank and authenticates, without blocking.
 */
#include "control/connector.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "net/socket.h"

static void call_hang_up(struct connector *call)
{
    handshake_free(call->handshake);
    call->handshake = NULL;
    if (call->fd >= 0)
        close(call->fd);
    call->fd = -1;
}

/* The outcome of an answered attempt is kept when a later one runs out of time. */
static void call_note(struct connector *call, int error)
{
    const char **outcome = &call->outcomes[call->next - 1];
    if (error != ETIMEDOUT || !*outcome)
        *outcome = error == ETIMEDOUT ? "no answer" : strerrordesc_np(error);
    call->refused += error == ECONNREFUSED;
}

/* The next address, or the end of them. */
static void call_dial(struct connector *call)
{
    call_hang_up(call);
    while (call->fd < 0 && call->next < call->count) {
        call->fd = socket_connect(&call->routes[call->next++]);
        if (call->fd < 0)
            call_note(call, errno);
    }
    call->until = call->control->helper.now + call->seconds;
    if (call->fd < 0)
        call->state = call->wrong || (call->foreign > 0 && call->foreign == call->count)
                          ? CALL_HOPELESS
                          : CALL_FAILED;
}

void connector_begin(struct connector *call, struct control *control, int rank,
                     const struct join_request *request, const struct address *routes,
                     const char **outcomes, int count, double seconds)
{
    *call = (struct connector){.control = control,
                               .state = CALL_PENDING,
                               .rank = rank,
                               .outcomes = outcomes,
                               .count = count,
                               .seconds = seconds,
                               .fd = -1};
    call->hello_size = join_request_encode(request, call->request);
    memcpy(call->routes, routes, (size_t)count * sizeof *routes);
    call_dial(call);
}

struct pollfd connector_watch(const struct connector *call)
{
    bool pending = call->state == CALL_PENDING;
    return (struct pollfd){.fd = pending ? call->fd : -1,
                           .events = call->handshake ? handshake_events(call->handshake) : POLLOUT};
}

/* Is the other end the rank that was called? Private addresses are not unique. */
static bool call_is_right(const struct connector *call)
{
    size_t size;
    const void *bytes = handshake_hello(call->handshake, &size);
    struct join_request request;
    return join_request_decode(bytes, size, &request) && request.rank == call->rank;
}

static void call_shake_hands(struct connector *call)
{
    enum handshake_state state = handshake_step(call->handshake);
    if (state == HANDSHAKE_PENDING && call->control->helper.now < call->until)
        return;
    if (state == HANDSHAKE_DONE && call_is_right(call)) {
        call->state = CALL_DONE;
        return;
    }
    call->outcomes[call->next - 1] =
        state == HANDSHAKE_DONE ? "is another rank" : handshake_reason(call->handshake);
    if (state == HANDSHAKE_REFUSED && !handshake_lost(call->handshake)) {
        call->rejection = call->outcomes[call->next - 1];
        if (handshake_foreign(call->handshake))
            call->foreign++;
        else
            call->wrong = true;
    }
    call_dial(call);
}

/* The connection was made, or has failed. */
static void call_connected(struct connector *call, bool answered)
{
    int error = answered ? socket_connect_result(call->fd) : ETIMEDOUT;
    if (error == 0)
        call->handshake = handshake_create(call->fd, false, call->control->membership.secret,
                                           "control", call->request, call->hello_size);
    if (error == 0 && !call->handshake)
        error = ENOMEM;
    if (error) {
        call_note(call, error);
        call_dial(call);
    }
}

enum connector_state connector_step(struct connector *call, short events)
{
    if (call->state == CALL_PENDING && !call->handshake &&
        (events || call->control->helper.now >= call->until))
        call_connected(call, events != 0);
    if (call->state == CALL_PENDING && call->handshake)
        call_shake_hands(call);
    return call->state;
}

void connector_take(struct connector *call, struct wire *wire)
{
    wire_connect(wire, call->fd, handshake_keys(call->handshake));
    call->fd = -1;
    connector_drop(call);
}

void connector_drop(struct connector *call)
{
    if (call->state == CALL_NONE)
        return;
    call_hang_up(call);
    call->state = CALL_NONE;
}
