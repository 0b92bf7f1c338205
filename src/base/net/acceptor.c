/*
 * acceptor.c - accepts connections and authenticates them, without blocking.
 */
#include "base/net/net.h"

#include "base/list.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define YIELD_SECONDS 0.1 /* that a connection may be pending while others wait in the backlog */
#define PAUSE_SECONDS 0.2 /* after an accept() that failed: out of descriptors, most likely */

struct pending {
    int fd;
    struct handshake *handshake;
    double since;
    struct address from;
};

void acceptor_open(struct acceptor *acceptor, double now)
{
    struct pending *pending = new_array((size_t)acceptor->most, sizeof *pending);
    for (int i = 0; i < acceptor->count; i++) {
        pending[i] = acceptor->pending[i];
        pending[i].since = now;
    }
    free(acceptor->pending);
    acceptor->pending = pending;
}

/* May the oldest pending connection be dropped? */
static bool acceptor_yields(const struct acceptor *acceptor, double now)
{
    return acceptor->count > 0 && now - acceptor->pending[0].since > YIELD_SECONDS;
}

int acceptor_watch(const struct acceptor *acceptor, struct pollfd *set, double now)
{
    bool open = acceptor->most > 0 && now >= acceptor->pause_until &&
                (acceptor->count < acceptor->most || acceptor_yields(acceptor, now));
    for (int i = 0; i < acceptor->listeners->count; i++)
        *set++ = (struct pollfd){.fd = open ? acceptor->listeners->fd[i] : -1, .events = POLLIN};
    for (int i = 0; i < acceptor->count; i++)
        *set++ = (struct pollfd){.fd = acceptor->pending[i].fd,
                                 .events = handshake_events(acceptor->pending[i].handshake)};
    return acceptor->listeners->count + acceptor->count;
}

static struct pending acceptor_take(struct acceptor *acceptor, int index)
{
    struct pending *pending = &acceptor->pending[index], taken = *pending;
    memmove(pending, pending + 1, (size_t)(--acceptor->count - index) * sizeof *pending);
    return taken;
}

static void pending_drop(struct acceptor *acceptor, const struct pending *pending, const char *why)
{
    atomic_fetch_add(acceptor->rejected, 1);
    char from[ADDRESS_TEXT];
    bool mapped = !strncmp(address_text(&pending->from, from), "::ffff:", 7);
    snprintf(acceptor->last_rejected, sizeof acceptor->last_rejected, "%s, which %s",
             mapped ? from + 7 : from, why);
    say_verbose(2, "dropped a connection from %s", acceptor->last_rejected);
    close(pending->fd);
}

bool acceptor_drop_oldest(struct acceptor *acceptor, const char *why)
{
    if (acceptor->count == 0)
        return false;
    struct pending pending = acceptor_take(acceptor, 0);
    pending_drop(acceptor, &pending, why);
    handshake_free(pending.handshake);
    return true;
}

/* For one more connection; false: the oldest pending one is too young to be dropped. */
static bool acceptor_make_room(struct acceptor *acceptor, double now)
{
    return acceptor_yields(acceptor, now) &&
           acceptor_drop_oldest(acceptor, "did not authenticate while others waited");
}

/* Returns whether the connection stays pending. */
static bool pending_serve(struct acceptor *acceptor, int index, bool ready, double now)
{
    struct pending pending = acceptor->pending[index];
    enum handshake_state state = ready ? handshake_step(pending.handshake) : HANDSHAKE_PENDING;
    if (state == HANDSHAKE_PENDING && now - pending.since < acceptor->seconds)
        return true;
    acceptor_take(acceptor, index);
    const char *why = state == HANDSHAKE_DONE
                          ? acceptor->admit(acceptor->argument, pending.fd, pending.handshake)
                          : handshake_reason(pending.handshake);
    if (why)
        pending_drop(acceptor, &pending, why);
    handshake_free(pending.handshake);
    return false;
}

/* No descriptor is left. Foreign connections must not end a job, so pending ones are dropped
 * first; if there are none, the job itself needs more descriptors than it may have. Returns
 * whether to try again. */
static bool acceptor_find_descriptor(struct acceptor *acceptor, double now)
{
    if (acceptor->count > 0)
        return acceptor_make_room(acceptor, now);
    acceptor->exhausted = true;
    if (acceptor->spare < 0)
        return false;
    close(acceptor->spare);
    acceptor->spare = -1;
    return true;
}

static void acceptor_accept(struct acceptor *acceptor, int listener, double now)
{
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    while (poll(&waiting, 1, 0) > 0 &&
           (acceptor->count < acceptor->most || acceptor_make_room(acceptor, now))) {
        struct pending pending = {.since = now};
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        pending.fd =
            accept4(listener, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        int error = errno;
        if (pending.fd < 0 && (error == EMFILE || error == ENFILE) &&
            acceptor_find_descriptor(acceptor, now))
            continue;
        if (pending.fd < 0) {
            if (error != EAGAIN && error != EWOULDBLOCK && error != ECONNABORTED && error != EINTR)
                acceptor->pause_until = now + PAUSE_SECONDS;
            return;
        }
        socket_set_prompt(pending.fd);
        address_of((struct sockaddr *)&address, &pending.from);
        pending.handshake = handshake_create(pending.fd, true, acceptor->secret, acceptor->purpose,
                                             acceptor->hello, acceptor->hello_size);
        if (pending.handshake)
            acceptor->pending[acceptor->count++] = pending;
        else
            close(pending.fd);
    }
}

void acceptor_serve(struct acceptor *acceptor, const struct pollfd *set, double now)
{
    const struct pollfd *polled = set + acceptor->listeners->count;
    for (int i = 0; i < acceptor->count; polled++)
        i += pending_serve(acceptor, i, polled->revents, now);
    for (int i = 0; i < acceptor->listeners->count; i++)
        if (set[i].revents)
            acceptor_accept(acceptor, acceptor->listeners->fd[i], now);
}

void acceptor_close(struct acceptor *acceptor)
{
    if (acceptor->spare >= 0)
        close(acceptor->spare);
    acceptor->spare = -1;
    while (acceptor->count > 0) {
        struct pending pending = acceptor_take(acceptor, acceptor->count - 1);
        close(pending.fd);
        handshake_free(pending.handshake);
    }
    free(acceptor->pending);
    acceptor->pending = NULL;
}
