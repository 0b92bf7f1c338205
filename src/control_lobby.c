/*
 * control_lobby.c - a rank's listeners, and those who have not proved themselves yet.
 *
 * Anybody can connect. Each guest has a few seconds to prove that it knows the secret; nobody waits
 * for it meanwhile. When the lobby is full, further ones wait in the kernel's queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control_internal.h"
#include "socket.h"

#define GUESTS_MOST   (LOBBY_POLLS - HOME_ADDRESSES_MOST)
#define GUEST_SECONDS 3.0
#define YIELD_SECONDS 0.1 /* ... or only so few, when others wait at the door */
#define PAUSE_SECONDS 0.2 /* after an accept() that failed: out of descriptors, most likely */

struct guest {
    int fd;
    struct handshake *handshake;
    double since;
    char from[64];
};

struct lobby {
    struct control *control;
    unsigned char hello[HANDSHAKE_HELLO_MOST];
    size_t hello_size;
    struct guest guests[GUESTS_MOST];
    int count;
    double pause_until;
    int spare; /* a descriptor to give up when there are no more, so that guests can be told */
    bool exhausted;
    char last_stranger[160];
};

struct lobby *lobby_create(struct control *control)
{
    struct lobby *lobby = calloc(1, sizeof *lobby);
    if (!lobby)
        return NULL;
    lobby->control = control;
    lobby->spare = fcntl(control->listeners.fd[0], F_DUPFD_CLOEXEC, 0);
    struct hello hello;
    hello_fill(&hello, &control->membership, control->options);
    hello.home = control->home;
    lobby->hello_size = hello_encode(&hello, lobby->hello);
    return lobby;
}

/* The guests stand in the order in which they came. */
static bool lobby_has_room(const struct lobby *lobby)
{
    return lobby->count < GUESTS_MOST ||
           lobby->control->now - lobby->guests[0].since > YIELD_SECONDS;
}

int lobby_watch(struct lobby *lobby, struct pollfd *set)
{
    bool open = lobby_has_room(lobby) && lobby->control->now >= lobby->pause_until;
    const struct listeners *listeners = &lobby->control->listeners;
    for (int i = 0; i < listeners->count; i++)
        *set++ = (struct pollfd){.fd = open ? listeners->fd[i] : -1, .events = POLLIN};
    for (int i = 0; i < lobby->count; i++)
        *set++ = (struct pollfd){.fd = lobby->guests[i].fd,
                                 .events = handshake_events(lobby->guests[i].handshake)};
    return listeners->count + lobby->count;
}

static void guest_drop(struct lobby *lobby, struct guest *guest, const char *why)
{
    atomic_fetch_add(&lobby->control->strangers, 1);
    snprintf(lobby->last_stranger, sizeof lobby->last_stranger, "%s, which %s", guest->from, why);
    say_verbose(2, "dropped a connection from %s", lobby->last_stranger);
    close(guest->fd);
}

/* Returns true when the guest has left the lobby, either way. */
static bool guest_serve(struct lobby *lobby, struct guest *guest, lobby_admit *admit,
                        void *argument)
{
    enum handshake_state state = handshake_step(guest->handshake);
    if (state == HANDSHAKE_PENDING && lobby->control->now - guest->since < GUEST_SECONDS)
        return false;
    size_t size;
    const void *bytes = handshake_hello(guest->handshake, &size);
    struct hello hello;
    if (state == HANDSHAKE_DONE && hello_decode(bytes, size, &hello)) {
        struct wire wire = {0};
        wire_connect(&wire, guest->fd, handshake_seals(guest->handshake));
        admit(argument, &wire, &hello);
    } else {
        guest_drop(lobby, guest,
                   state == HANDSHAKE_DONE ? "sent a hello that makes no sense"
                                           : handshake_reason(guest->handshake));
    }
    handshake_free(guest->handshake);
    return true;
}

/* "10.0.0.7 port 4711" */
static void guest_text(const struct sockaddr_storage *address, socklen_t size, char *text,
                       size_t room)
{
    char host[NI_MAXHOST], service[NI_MAXSERV];
    if (getnameinfo((const struct sockaddr *)address, size, host, sizeof host, service,
                    sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(text, room, "somewhere");
    else
        snprintf(text, room, "%.40s port %.5s", strncmp(host, "::ffff:", 7) ? host : host + 7,
                 service);
}

/* The oldest makes room. */
static void lobby_turn_out(struct lobby *lobby)
{
    guest_drop(lobby, &lobby->guests[0], "said nothing while others waited");
    handshake_free(lobby->guests[0].handshake);
    memmove(lobby->guests, lobby->guests + 1, (size_t)--lobby->count * sizeof *lobby->guests);
}

/* No descriptor for one more guest. Strangers must not be able to end a job, so they go first; when
 * nobody is left to go, it is the job that needs more than it may have. Returns whether to try
 * again. */
static bool lobby_find_descriptor(struct lobby *lobby)
{
    if (lobby->count > 0) {
        if (lobby->control->now - lobby->guests[0].since <= YIELD_SECONDS)
            return false;
        lobby_turn_out(lobby);
        return true;
    }
    lobby->exhausted = true;
    if (lobby->spare < 0)
        return false;
    close(lobby->spare);
    lobby->spare = -1;
    return true;
}

static void lobby_accept(struct lobby *lobby, int listener)
{
    struct control *control = lobby->control;
    while (lobby_has_room(lobby)) {
        if (lobby->count == GUESTS_MOST)
            lobby_turn_out(lobby);
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        int fd =
            accept4(listener, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE) && lobby_find_descriptor(lobby))
            continue;
        if (fd < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ECONNABORTED && errno != EINTR)
                lobby->pause_until = control->now + PAUSE_SECONDS;
            return;
        }
        socket_set_prompt(fd);
        struct guest *guest = &lobby->guests[lobby->count];
        *guest = (struct guest){.fd = fd, .since = control->now};
        guest_text(&address, size, guest->from, sizeof guest->from);
        guest->handshake = handshake_create(fd, true, control->membership.secret, "control",
                                            lobby->hello, lobby->hello_size);
        if (guest->handshake)
            lobby->count++;
        else
            close(fd);
    }
}

void lobby_serve(struct lobby *lobby, const struct pollfd *set, lobby_admit *admit, void *argument)
{
    int kept = 0;
    for (int i = 0; i < lobby->count; i++) {
        struct guest guest = lobby->guests[i];
        if (!guest_serve(lobby, &guest, admit, argument))
            lobby->guests[kept++] = guest;
    }
    lobby->count = kept;
    const struct listeners *listeners = &lobby->control->listeners;
    for (int i = 0; i < listeners->count; i++)
        if (set[i].revents)
            lobby_accept(lobby, listeners->fd[i]);
}

int lobby_guests(const struct lobby *lobby)
{
    return lobby->count;
}

bool lobby_exhausted(const struct lobby *lobby)
{
    return lobby->exhausted;
}

const char *lobby_last_stranger(const struct lobby *lobby)
{
    return lobby->last_stranger;
}

void lobby_close(struct lobby *lobby)
{
    if (lobby->spare >= 0)
        close(lobby->spare); /* it would keep a listener alive */
    lobby->spare = -1;
    while (lobby->count > 0) {
        struct guest *guest = &lobby->guests[--lobby->count];
        close(guest->fd);
        handshake_free(guest->handshake);
    }
    listeners_close(&lobby->control->listeners);
}

void lobby_free(struct lobby *lobby)
{
    if (lobby)
        lobby_close(lobby);
    free(lobby);
}
