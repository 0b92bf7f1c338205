/*
 * connector.c - connects to another rank and authenticates, without blocking. A fuzz target
 * replaces it.
 */
#include "base/net/net.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A network in which large packets vanish is told by the connections that move data, not by the
 * loss of a rank: IPv6 asks 1,280 bytes of each link (RFC 8200), so segments of this size pass. */
#define CALL_SEGMENT 1200 /* bytes */

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
static void call_dial(struct connector *call, double now)
{
    call_hang_up(call);
    while (call->fd < 0 && call->next < call->count) {
        call->fd = socket_connect(&call->routes[call->next++], CALL_SEGMENT);
        if (call->fd < 0)
            call_note(call, errno);
    }
    call->until = now + call->seconds;
    if (call->fd < 0)
        call->state = call->wrong || (call->foreign > 0 && call->foreign == call->count)
                          ? CALL_HOPELESS
                          : CALL_FAILED;
}

void connector_begin(struct connector *call, const struct address *routes, const char **outcomes,
                     int count, double seconds, double now)
{
    call->state = CALL_PENDING;
    call->handshake = NULL;
    call->fd = -1;
    call->outcomes = outcomes;
    call->count = count;
    call->next = call->refused = call->foreign = 0;
    call->wrong = false;
    call->rejection = NULL;
    call->seconds = seconds;
    memcpy(call->routes, routes, (size_t)count * sizeof *routes);
    call_dial(call, now);
}

struct pollfd connector_watch(const struct connector *call)
{
    bool pending = call->state == CALL_PENDING;
    return (struct pollfd){.fd = pending ? call->fd : -1,
                           .events = call->handshake ? handshake_events(call->handshake) : POLLOUT};
}

static bool call_is_right(const struct connector *call)
{
    size_t size;
    const void *hello = handshake_hello(call->handshake, &size);
    return call->is_right(call->rank, hello, size);
}

static void call_shake_hands(struct connector *call, double now)
{
    enum handshake_state state = handshake_step(call->handshake);
    if (state == HANDSHAKE_PENDING && now < call->until)
        return;
    if (state == HANDSHAKE_DONE && call_is_right(call)) {
        call->state = CALL_DONE;
        call->keys = *handshake_keys(call->handshake);
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
    call_dial(call, now);
}

/* The connection was made, or has failed. */
static void call_connected(struct connector *call, bool answered, double now)
{
    int error = answered ? socket_connect_result(call->fd) : ETIMEDOUT;
    if (error == 0)
        call->handshake = handshake_create(call->fd, false, call->secret, call->purpose,
                                           call->hello, call->hello_size);
    if (error == 0 && !call->handshake)
        error = ENOMEM;
    if (error) {
        call_note(call, error);
        call_dial(call, now);
    }
}

enum connector_state connector_step(struct connector *call, short events, double now)
{
    if (call->state == CALL_PENDING && !call->handshake && (events || now >= call->until))
        call_connected(call, events != 0, now);
    if (call->state == CALL_PENDING && call->handshake)
        call_shake_hands(call, now);
    return call->state;
}

void connector_taken(struct connector *call)
{
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
