/*
 * acceptor.c - letting in who knows the secret, and nobody else. See acceptor.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "net/acceptor.h"
#include "net/socket.h"

#define YIELD_SECONDS 0.1 /* that a guest has when others wait at the door */
#define PAUSE_SECONDS 0.2 /* after an accept() that failed: out of descriptors, most likely */

struct guest {
    int fd;
    struct handshake *handshake;
    double since;
    struct address from;
};

bool door_open(struct door *door, double now)
{
    struct guest *guests = realloc(door->guests, (size_t)door->most * sizeof *guests);
    if (!guests)
        return false;
    door->guests = guests;
    for (int i = 0; i < door->count; i++)
        guests[i].since = now;
    return true;
}

/* May the oldest be turned out? */
static bool door_yields(const struct door *door, double now)
{
    return door->count > 0 && now - door->guests[0].since > YIELD_SECONDS;
}

int door_watch(const struct door *door, struct pollfd *set, double now)
{
    bool open = door->most > 0 && now >= door->pause_until &&
                (door->count < door->most || door_yields(door, now));
    for (int i = 0; i < door->listeners->count; i++)
        *set++ = (struct pollfd){.fd = open ? door->listeners->fd[i] : -1, .events = POLLIN};
    for (int i = 0; i < door->count; i++)
        *set++ = (struct pollfd){.fd = door->guests[i].fd,
                                 .events = handshake_events(door->guests[i].handshake)};
    return door->listeners->count + door->count;
}

static struct guest door_take(struct door *door, int index)
{
    struct guest *guest = &door->guests[index], taken = *guest;
    memmove(guest, guest + 1, (size_t)(--door->count - index) * sizeof *guest);
    return taken;
}

static void guest_drop(struct door *door, const struct guest *guest, const char *why)
{
    atomic_fetch_add(door->strangers, 1);
    char from[ADDRESS_TEXT];
    bool mapped = !strncmp(address_text(&guest->from, from), "::ffff:", 7);
    snprintf(door->last_stranger, sizeof door->last_stranger, "%s, which %s",
             mapped ? from + 7 : from, why);
    say_verbose(2, "dropped a connection from %s", door->last_stranger);
    close(guest->fd);
}

bool door_turn_out(struct door *door, const char *why)
{
    if (door->count == 0)
        return false;
    struct guest guest = door_take(door, 0);
    guest_drop(door, &guest, why);
    handshake_free(guest.handshake);
    return true;
}

/* For who knocks; false: the oldest has not had its moment. */
static bool door_make_room(struct door *door, double now)
{
    return door_yields(door, now) && door_turn_out(door, "said nothing while others waited");
}

/* Returns whether the guest stays. */
static bool guest_serve(struct door *door, int index, bool ready, double now)
{
    struct guest guest = door->guests[index];
    enum handshake_state state = ready ? handshake_step(guest.handshake) : HANDSHAKE_PENDING;
    if (state == HANDSHAKE_PENDING && now - guest.since < door->seconds)
        return true;
    door_take(door, index);
    const char *why = state == HANDSHAKE_DONE
                          ? door->admit(door->argument, guest.fd, guest.handshake)
                          : handshake_reason(guest.handshake);
    if (why)
        guest_drop(door, &guest, why);
    handshake_free(guest.handshake);
    return false;
}

/* No descriptor for one more guest. Strangers must not be able to end a job, so they go first; when
 * nobody is left to go, it is the job that needs more than it may have. Returns whether to try
 * again. */
static bool door_find_descriptor(struct door *door, double now)
{
    if (door->count > 0)
        return door_make_room(door, now);
    door->exhausted = true;
    if (door->spare < 0)
        return false;
    close(door->spare);
    door->spare = -1;
    return true;
}

static void door_accept(struct door *door, int listener, double now)
{
    struct pollfd knock = {.fd = listener, .events = POLLIN};
    while (poll(&knock, 1, 0) > 0 && (door->count < door->most || door_make_room(door, now))) {
        struct guest guest = {.since = now};
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        guest.fd =
            accept4(listener, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        int error = errno;
        if (guest.fd < 0 && (error == EMFILE || error == ENFILE) && door_find_descriptor(door, now))
            continue;
        if (guest.fd < 0) {
            if (error != EAGAIN && error != EWOULDBLOCK && error != ECONNABORTED && error != EINTR)
                door->pause_until = now + PAUSE_SECONDS;
            return;
        }
        socket_set_prompt(guest.fd);
        address_of((struct sockaddr *)&address, &guest.from);
        guest.handshake = handshake_create(guest.fd, true, door->secret, door->purpose, door->hello,
                                           door->hello_size);
        if (guest.handshake)
            door->guests[door->count++] = guest;
        else
            close(guest.fd);
    }
}

void door_serve(struct door *door, const struct pollfd *set, double now)
{
    const struct pollfd *polled = set + door->listeners->count;
    for (int i = 0; i < door->count; polled++)
        i += guest_serve(door, i, polled->revents, now);
    for (int i = 0; i < door->listeners->count; i++)
        if (set[i].revents)
            door_accept(door, door->listeners->fd[i], now);
}

void door_close(struct door *door)
{
    if (door->spare >= 0)
        close(door->spare);
    door->spare = -1;
    while (door->count > 0) {
        struct guest guest = door_take(door, door->count - 1);
        close(guest.fd);
        handshake_free(guest.handshake);
    }
    free(door->guests);
    door->guests = NULL;
}
