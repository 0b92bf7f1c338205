/*
 * socket.c - the sockets of an endpoint, one for each peer and lane, each with its two channels.
 */
#include "transports/tcp/internal.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "base/net/net.h"

struct tcp_socket *tcp_socket_find(const struct tcp_endpoint *endpoint, int peer, int lane)
{
    const struct tcp_peer *to = &endpoint->peers[peer];
    return lane < to->lane_count ? to->lanes[lane] : NULL;
}

void tcp_socket_free(struct tcp_socket *socket)
{
    if (!socket)
        return;
    if (socket->fd >= 0)
        close(socket->fd);
    free(socket->out.slot);
    free(socket->in.slot);
    free(socket);
}

static void tcp_channel_init(struct tcp_channel *channel, struct tcp_socket *socket,
                             struct tcp_endpoint *endpoint, int peer, int lane, bool sends)
{
    channel->base =
        (struct channel){.endpoint = &endpoint->base, .peer = peer, .lane = lane, .sends = sends};
    channel->socket = socket;
    channel->slot = malloc(endpoint->slot_bytes);
}

/* Makes room for one more socket in the peer's lanes, and for its two channels in the active
 * list. */
static bool tcp_make_room(struct tcp_endpoint *endpoint, struct tcp_peer *peer, int lane)
{
    size_t channels = 2 * ((size_t)endpoint->sockets + 1);
    struct tcp_channel **active = realloc(endpoint->active, channels * sizeof(*endpoint->active));
    if (!active)
        return false;
    endpoint->active = active;
    if (lane < peer->lane_count)
        return true;
    struct tcp_socket **lanes = realloc(peer->lanes, ((size_t)lane + 1) * sizeof(*lanes));
    if (!lanes)
        return false;
    peer->lanes = lanes;
    while (peer->lane_count <= lane)
        lanes[peer->lane_count++] = NULL;
    return true;
}

/* Within a host there is no congestion, and a control that paces (bbr) takes twice the time of one
 * that does not. Between hosts the user's choice stays. */
static void tcp_unpace(int fd)
{
    static const char control[] = "reno"; /* every Linux has it */
    if (socket_stays_here(fd))
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, sizeof(control) - 1);
}

enum status tcp_socket_install(struct tcp_endpoint *endpoint, int peer, int lane, int fd)
{
    struct tcp_socket *socket = calloc(1, sizeof(*socket));
    if (!socket || !tcp_make_room(endpoint, &endpoint->peers[peer], lane)) {
        free(socket);
        return fail(STATUS_ERROR, "out of memory for a tcp connection");
    }
    socket->fd = -1;
    tcp_channel_init(&socket->out, socket, endpoint, peer, lane, true);
    tcp_channel_init(&socket->in, socket, endpoint, peer, lane, false);
    int yes = 1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = socket};
    enum status status = STATUS_OK;
    if (!socket->out.slot || !socket->in.slot)
        status = fail(STATUS_ERROR, "out of memory for a tcp connection's slots");
    else if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) ||
             epoll_ctl(endpoint->epoll, EPOLL_CTL_ADD, fd, &event))
        status = fail(STATUS_ERROR, "cannot set up a tcp connection: %s", strerror(errno));
    if (status != STATUS_OK) {
        tcp_socket_free(socket);
        return status;
    }
    tcp_unpace(fd);
    socket->fd = fd;
    socket->out.ready = socket->in.ready = true; /* the first try finds out */
    endpoint->peers[peer].lanes[lane] = socket;
    endpoint->sockets++;
    return STATUS_OK;
}
