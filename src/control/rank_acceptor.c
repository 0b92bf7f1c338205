/*
 * rank_acceptor.c - the door at which the ranks of a job turn up.
 */
#include <fcntl.h>

#include "control/mailbox.h"

#define GUEST_SECONDS 3.0

static const char *lobby_admit_guest(void *argument, int fd, const struct handshake *handshake)
{
    const struct lobby *lobby = argument;
    struct wire wire = {0};
    struct hello hello;
    size_t size;
    const void *bytes = handshake_hello(handshake, &size);
    if (!hello_decode(bytes, size, &hello))
        return "sent a hello that makes no sense";
    wire_connect(&wire, fd, handshake_seals(handshake));
    lobby->admit(lobby->argument, &wire, &hello);
    return NULL;
}

bool lobby_open(struct lobby *lobby, struct control *control, lobby_admit *admit, void *argument)
{
    struct listeners *listeners = &control->listeners;
    struct hello hello;
    hello_fill(&hello, &control->membership, control->options);
    hello.home = control->home;
    *lobby = (struct lobby){.admit = admit, .argument = argument};
    lobby->door = (struct door){
        .listeners = listeners,
        .secret = control->membership.secret,
        .purpose = "control",
        .seconds = GUEST_SECONDS,
        .most = LOBBY_POLLS - HOME_ADDRESSES_MOST,
        .spare = listeners->count > 0 ? fcntl(listeners->fd[0], F_DUPFD_CLOEXEC, 0) : -1,
        .admit = lobby_admit_guest,
        .argument = lobby,
        .strangers = &control->strangers,
    };
    lobby->door.hello_size = hello_encode(&hello, lobby->door.hello);
    return door_open(&lobby->door, control->now);
}

void lobby_close(struct lobby *lobby)
{
    door_close(&lobby->door); /* its spare would keep a listener alive */
    listeners_close(lobby->door.listeners);
}
