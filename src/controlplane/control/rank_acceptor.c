/*
 * rank_acceptor.c - accepts the connections of ranks, and decodes their join requests. A fuzz
 * target replaces it.
 */
#include "controlplane/control/control.h"

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

void rank_acceptor_open(struct rank_acceptor *rank_acceptor, const struct join_request *request,
                        double now)
{
    struct acceptor *acceptor = &rank_acceptor->acceptor;
    const struct listeners *listeners = acceptor->listeners;
    acceptor->seconds = PENDING_SECONDS;
    acceptor->most = RANKS_PENDING_MOST;
    acceptor->spare = listeners->count > 0 ? fcntl(listeners->fd[0], F_DUPFD_CLOEXEC, 0) : -1;
    acceptor->admit = rank_acceptor_admit_pending;
    acceptor->argument = rank_acceptor;
    acceptor->hello_size = join_request_encode(request, acceptor->hello);
    acceptor_open(acceptor, now);
}

void rank_acceptor_close(struct rank_acceptor *rank_acceptor)
{
    acceptor_close(&rank_acceptor->acceptor); /* its spare would keep a listener alive */
    listeners_close(rank_acceptor->acceptor.listeners);
}
