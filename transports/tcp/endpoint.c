/*
 * endpoint.c - the tcp transport, which works everywhere: one socket for each lane between two
 * ranks.
 *
 * Few active channels are each tried directly, which is fastest. If there are many, epoll tells
 * which are worth a try; it is edge-triggered, so that idle sockets cost nothing.
 */

#include "base/log.h"
#include "transports/tcp/internal.h"
#include "transports/transports.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/list.h"

/*
 * The sockets of an endpoint, one for each peer and lane, each with its two channels.
 */
struct tcp_socket *tcp_socket_find(const struct tcp_endpoint *endpoint, int peer, int lane)
{
    const struct tcp_peer *to = &endpoint->peers[peer];
    return lane < to->lane_count ? to->lanes[lane] : NULL;
}

/* Closes the socket and frees its channels. NULL is allowed. */
static void tcp_socket_free(struct tcp_socket *socket)
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
static void tcp_make_room(struct tcp_endpoint *endpoint, struct tcp_peer *peer, int lane)
{
    size_t channels = 2 * ((size_t)endpoint->sockets + 1);
    endpoint->active = reallocarray(endpoint->active, channels, sizeof(*endpoint->active));
    if (!endpoint->active)
        memory_end();
    while (peer->lane_count <= lane)
        LIST_ADD(peer->lanes, peer->lane_count);
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
    struct tcp_socket *socket = new_array(1, sizeof(*socket));
    tcp_make_room(endpoint, &endpoint->peers[peer], lane);
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

/*
 * The tcp transport.
 */
#define SLOT_BYTES  65536
#define SLOT_LEAST  64 /* holds an element of any type */
#define DIRECT_MOST 8  /* active channels that are tried without asking epoll */

static void tcp_close(struct endpoint *base);

static enum status tcp_open(const struct transport_config *config, struct endpoint **result,
                            char *reason)
{
    (void)reason;
    struct tcp_endpoint *endpoint = new_array(1, sizeof(*endpoint));
    endpoint->base.transport = &transport_tcp;
    endpoint->base.config = *config;
    endpoint->slot_bytes = config->slot_bytes ? config->slot_bytes : SLOT_BYTES;
    if (endpoint->slot_bytes < SLOT_LEAST)
        endpoint->slot_bytes = SLOT_LEAST;
    tcp_prepare(endpoint);
    enum status status;
    endpoint->epoll = epoll_create1(EPOLL_CLOEXEC);
    endpoint->peers = new_array((size_t)config->ranks, sizeof(*endpoint->peers));
    if (endpoint->epoll < 0)
        status = fail(STATUS_ERROR, "cannot make a tcp endpoint: %s", strerror(errno));
    else
        status = addresses_listen(config->interface, config->local_ranks == config->ranks,
                                  &endpoint->listeners, &endpoint->home);
    if (status != STATUS_OK) {
        tcp_close(&endpoint->base);
        return status;
    }
    *result = &endpoint->base;
    return STATUS_OK;
}

_Static_assert(ADDRESSES_BLOB_MOST <= TRANSPORT_ADDRESS_MOST,
               "the addresses of a rank fit into its blob");

static size_t tcp_address(struct endpoint *base, void *blob)
{
    return addresses_encode(&((struct tcp_endpoint *)base)->home, blob);
}

static const char *tcp_attach(struct endpoint *base, int peer, const void *blob, size_t size)
{
    if (base->config.copy == COPY_LL)
        return "it has no memory that both ranks share, which --copy ll needs; use -x shm, or "
               "another --copy";
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base;
    struct tcp_peer *to = &endpoint->peers[peer];
    struct address routes[ADDRESSES_MOST];
    if (!to->home)
        to->home = new_array(1, sizeof(*to->home));
    if (!addresses_decode(blob, size, to->home))
        return "its address is invalid: check that all ranks run the same version of cctest";
    if (peer < base->config.rank && addresses_routes(&endpoint->home, to->home, routes) == 0)
        return "none of its addresses is reachable from here (on the same host the network "
               "namespaces differ); choose an --interface";
    return NULL;
}

static struct channel *tcp_channel(struct endpoint *base, int peer, int lane, bool sends)
{
    struct tcp_socket *socket = tcp_socket_find((struct tcp_endpoint *)base, peer, lane);
    return !socket ? NULL : sends ? &socket->out.base : &socket->in.base;
}

static void tcp_activate(struct channel *base)
{
    struct tcp_channel *channel = (struct tcp_channel *)base;
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base->endpoint;
    if (!channel->active) {
        channel->active = true;
        endpoint->active[endpoint->active_count++] = channel;
    }
}

/* Asks the kernel which sockets have become ready since the last call. */
static enum status tcp_poll(struct tcp_endpoint *endpoint)
{
    struct epoll_event events[64];
    int count;
    do {
        count = epoll_wait(endpoint->epoll, events, 64, 0);
        if (count < 0 && errno != EINTR)
            return fail(STATUS_ERROR, "epoll_wait failed: %s", strerror(errno));
        for (int i = 0; i < count; i++) {
            struct tcp_socket *socket = events[i].data.ptr;
            if (events[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
                socket->out.ready = true;
            if (events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP))
                socket->in.ready = true;
        }
    } while (count == 64);
    return STATUS_OK;
}

static enum status tcp_progress(struct endpoint *base)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base;
    bool direct = endpoint->active_count <= DIRECT_MOST;
    enum status status = direct ? STATUS_OK : tcp_poll(endpoint);
    for (int i = 0; status == STATUS_OK && i < endpoint->active_count;) {
        struct tcp_channel *channel = endpoint->active[i];
        if (direct || channel->ready)
            status = tcp_channel_progress(channel);
        else if (channel->base.sends) /* the socket has been full since the last try */
            profile_starve(channel->base.first->profile);
        if (channel->base.first) {
            i++;
        } else {
            channel->active = false;
            endpoint->active[i] = endpoint->active[--endpoint->active_count];
        }
    }
    return status;
}

static enum status tcp_check(struct endpoint *base)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base;
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < endpoint->active_count; i++)
        status = tcp_channel_check(endpoint->active[i]);
    return status;
}

static void tcp_close(struct endpoint *base)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base;
    if (!endpoint)
        return;
    for (int peer = 0; endpoint->peers && peer < base->config.ranks; peer++) {
        for (int lane = 0; lane < endpoint->peers[peer].lane_count; lane++)
            tcp_socket_free(endpoint->peers[peer].lanes[lane]);
        free(endpoint->peers[peer].lanes);
        free(endpoint->peers[peer].home);
    }
    tcp_settle(base);
    if (endpoint->epoll >= 0)
        close(endpoint->epoll);
    free(endpoint->peers);
    free(endpoint->active);
    free(endpoint);
}

static const char *tcp_unavailable(void)
{
    return NULL;
}

static const struct path_range tcp_path_ranges[] = {
    {PATH_BCOPY, 0, 0, COPY_BCOPY, MOVEMENT_PUSH, true, false},
    {PATH_ZCOPY, 0, 0, COPY_ZCOPY, MOVEMENT_PUSH, true, false},
};

const struct transport transport_tcp = {
    .name = "tcp",
    .summary = "sockets: between any two ranks that can reach each other by an IP network",
    .unavailable = tcp_unavailable,
    .open = tcp_open,
    .address = tcp_address,
    .attach = tcp_attach,
    .connect = tcp_connect,
    .settle = tcp_settle,
    .channel = tcp_channel,
    .path_ranges = tcp_path_ranges,
    .path_range_count = sizeof tcp_path_ranges / sizeof *tcp_path_ranges,
    .path_of = tcp_path_of,
    .wait_stats = tcp_wait_stats,
    .activate = tcp_activate,
    .progress = tcp_progress,
    .check = tcp_check,
    .idle_report = tcp_idle_report,
    .close = tcp_close,
};
