/*
 * rank_acceptor.c - accepts the connections of ranks, and decodes their join requests. A fuzz target replaces it.
 */
#include "controlplane/control/internal.h"

#include <fcntl.h>

#define PENDING_SECONDS 3.0

static const char *rank_acceptor_admit_pending(void *argument, int fd,
                                               const struct handshake *handshake)
{
    const struct rank_acceptor *rank_acceptor = argument;
    struct wire wire = {0};
    struct join_request request;
    size_t size;
    const void *bytes = handshake_hello(handshake, &size);
    if (!join_request_decode(bytes, size, &request))
        return "sent an invalid join request";
    wire_connect(&wire, fd, handshake_keys(handshake));
    rank_acceptor->admit(rank_acceptor->argument, &wire, &request);
    return NULL;
}

void rank_acceptor_open(struct rank_acceptor *rank_acceptor, struct control *control,
                        rank_acceptor_admit *admit, void *argument)
{
    struct listeners *listeners = &control->helper.listeners;
    struct join_request request;
    join_request_fill(&request, &control->membership, control->options);
    request.home = control->helper.home;
    *rank_acceptor = (struct rank_acceptor){.admit = admit, .argument = argument};
    rank_acceptor->acceptor = (struct acceptor){
        .listeners = listeners,
        .secret = control->membership.secret,
        .purpose = CONTROL_PURPOSE,
        .seconds = PENDING_SECONDS,
        .most = RANK_ACCEPTOR_POLLS - ADDRESSES_MOST,
        .spare = listeners->count > 0 ? fcntl(listeners->fd[0], F_DUPFD_CLOEXEC, 0) : -1,
        .admit = rank_acceptor_admit_pending,
        .argument = rank_acceptor,
        .rejected = &control->rejected,
    };
    rank_acceptor->acceptor.hello_size =
        join_request_encode(&request, rank_acceptor->acceptor.hello);
    acceptor_open(&rank_acceptor->acceptor, control->helper.now);
}

void rank_acceptor_close(struct rank_acceptor *rank_acceptor)
{
    acceptor_close(&rank_acceptor->acceptor); /* its spare would keep a listener alive */
    listeners_close(rank_acceptor->acceptor.listeners);
}
