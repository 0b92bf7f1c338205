/*
 * tcp.c - the transport that works everywhere: one TCP socket for each lane between two ranks.
 *
 * Both ends know the lengths of their messages, so nothing but payload travels, and the stream's
 * own flow control is the lane's. A send is done when the kernel has taken its bytes: it needs
 * nobody's help to arrive from there on.
 *
 *   zcopy   sendmsg from the pieces of the message, recvmsg into them
 *   bcopy   through a slot on both sides: one packed send, one packed receive
 *
 * A recv_reduce always lands in the slot (a socket cannot combine) and goes from there, element by
 * element. No side ever waits for a full slot: a limit may move by one element at a time, and two
 * ranks that each wait for a rest of the other's would wait for ever.
 *
 * While few channels are active each is tried directly, which is quickest; when there are many,
 * epoll says (edge-triggered, so that idle sockets cost nothing) which of them are worth a try.
 */
#include "net/socket.h"
#include "transports/tcp/tcp.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "transports/transports.h"

#define ZCOPY_THRESHOLD                                                                            \
    16384 /* longest message that goes through slots when the user does not say */
#define SLOT_BYTES  65536
#define SLOT_LEAST  64    /* holds an element of any type */
#define DIRECT_MOST 8     /* active channels that are tried without asking epoll */
#define VISIT_LEAST 65536 /* bytes for one channel before the next has its turn: at least these, */
#define VISIT_MOST  ((size_t)1 << 20) /* and at most these */
#define VECTOR_MOST 256               /* pieces in one system call */

static enum status tcp_lost(const struct channel *channel, const char *why)
{
    return fail_peer(REASON_PEER_LOST, channel->peer,
                     "lost the connection to rank %d (tcp, lane %d): %s; see what that rank "
                     "or its host says",
                     channel->peer, channel->lane, why);
}

static void tcp_close(struct endpoint *base);

static enum status tcp_open(const struct transport_config *config, struct endpoint **result)
{
    struct tcp_endpoint *endpoint = calloc(1, sizeof(*endpoint));
    if (!endpoint)
        return fail(STATUS_ERROR, "out of memory for a tcp endpoint");
    endpoint->base.transport = &transport_tcp;
    endpoint->base.config = *config;
    endpoint->slot_bytes = config->slot_bytes ? config->slot_bytes : SLOT_BYTES;
    if (endpoint->slot_bytes < SLOT_LEAST)
        endpoint->slot_bytes = SLOT_LEAST;
    tcp_prepare(endpoint);
    enum status status;
    endpoint->epoll = epoll_create1(EPOLL_CLOEXEC);
    endpoint->peers = calloc((size_t)config->ranks, sizeof(*endpoint->peers));
    if (endpoint->epoll < 0 || !endpoint->peers)
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
               "a rank's addresses fit into its blob");

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
    struct tcp_peer *it = &endpoint->peers[peer];
    struct address routes[ADDRESSES_MOST];
    if (!it->home && !(it->home = malloc(sizeof(*it->home))))
        return "out of memory";
    if (!addresses_decode(blob, size, it->home))
        return "its address makes no sense (another version of cctest?)";
    if (peer < base->config.rank && addresses_routes(&endpoint->home, it->home, routes) == 0)
        return "no address that it listens on leads there from here (on the same host: the network "
               "namespaces differ; choose an --interface)";
    return NULL;
}

struct tcp_socket *tcp_socket_find(const struct tcp_endpoint *endpoint, int peer, int lane)
{
    const struct tcp_peer *it = &endpoint->peers[peer];
    return lane < it->lane_count ? it->lanes[lane] : NULL;
}

static struct channel *tcp_channel(struct endpoint *base, int peer, int lane, bool sends)
{
    struct tcp_socket *it = tcp_socket_find((struct tcp_endpoint *)base, peer, lane);
    return !it ? NULL : sends ? &it->out.base : &it->in.base;
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

static enum path tcp_path(const struct endpoint *endpoint, const struct transfer *transfer)
{
    switch (endpoint->config.copy) {
    case COPY_BCOPY:
        return PATH_BCOPY;
    case COPY_ZCOPY:
        return PATH_ZCOPY;
    default:
        return transfer->length > ZCOPY_THRESHOLD ? PATH_ZCOPY : PATH_BCOPY;
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The next `most` bytes of the message as a vector; sets *bytes to what it covers. */
static int tcp_vector(const struct transfer *transfer, size_t most, struct iovec *vector,
                      size_t *bytes)
{
    struct cursor cursor = transfer->cursor;
    int count = 0;
    for (*bytes = 0; *bytes < most && count < VECTOR_MOST; count++) {
        vector[count].iov_base = cursor_peek(&cursor, most - *bytes, &vector[count].iov_len);
        cursor_advance(&cursor, vector[count].iov_len);
        *bytes += vector[count].iov_len;
    }
    return count;
}

/* What a system call on a socket returned, as a number of bytes; 0 if it would have waited. Its
 * time was copying if it moved any, else it goes to what was there `before`. */
static enum status tcp_moved(struct tcp_channel *channel, enum activity before, ssize_t result,
                             size_t *moved)
{
    struct profile *profile = channel->base.first->profile;
    *moved = result > 0 ? (size_t)result : 0;
    if (result > 0) {
        profile_enter(profile, PROFILE_BOOKKEEPING);
        if (channel->starved_since)
            tcp_fed(channel);
        return STATUS_OK;
    }
    profile_revert(profile, before);
    if (result == 0)
        return tcp_lost(&channel->base, "it was closed by the other end");
    if (errno == EINTR)
        return STATUS_OK;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return tcp_lost(&channel->base, strerror(errno));
    channel->ready = false;
    if (channel->base.sends)
        profile_starve(profile);
    else
        tcp_starve(channel);
    return STATUS_OK;
}

/* The two ways to send, and the two to receive: each makes one attempt to move up to `most` bytes
 * of the first transfer (never 0), and tells how many it wanted to and how many it did. */
static enum status tcp_send_straight(struct tcp_channel *channel, struct transfer *transfer,
                                     size_t most, size_t *wanted, size_t *moved)
{
    struct iovec vector[VECTOR_MOST];
    struct msghdr message = {.msg_iov = vector};
    message.msg_iovlen = (size_t)tcp_vector(transfer, most, vector, wanted);
    enum activity before = profile_enter(transfer->profile, PROFILE_COPY);
    ssize_t result = sendmsg(channel->socket->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    enum status status = tcp_moved(channel, before, result, moved);
    transfer->issued += *moved;
    cursor_advance(&transfer->cursor, *moved);
    return status;
}

static enum status tcp_send_packed(struct tcp_channel *channel, struct transfer *transfer,
                                   size_t most, size_t *wanted, size_t *moved)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)channel->base.endpoint;
    if (channel->slot_begin == channel->slot_end) {
        channel->slot_begin = 0;
        channel->slot_end = smaller(most, endpoint->slot_bytes);
        profile_enter(transfer->profile, PROFILE_COPY);
        cursor_gather(&transfer->cursor, channel->slot, channel->slot_end);
        profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
        transfer->issued += channel->slot_end;
        endpoint->base.traffic.copied_sending += channel->slot_end;
    }
    *wanted = channel->slot_end - channel->slot_begin;
    enum activity before = profile_enter(transfer->profile, PROFILE_COPY);
    ssize_t result = send(channel->socket->fd, channel->slot + channel->slot_begin, *wanted,
                          MSG_NOSIGNAL | MSG_DONTWAIT);
    enum status status = tcp_moved(channel, before, result, moved);
    channel->slot_begin += *moved;
    return status;
}

static enum status tcp_receive_straight(struct tcp_channel *channel, struct transfer *transfer,
                                        size_t most, size_t *wanted, size_t *moved)
{
    struct iovec vector[VECTOR_MOST];
    struct msghdr message = {.msg_iov = vector};
    message.msg_iovlen = (size_t)tcp_vector(transfer, most, vector, wanted);
    enum activity before = profile_enter(transfer->profile, PROFILE_COPY);
    ssize_t result = recvmsg(channel->socket->fd, &message, MSG_DONTWAIT);
    enum status status = tcp_moved(channel, before, result, moved);
    transfer->issued += *moved;
    cursor_advance(&transfer->cursor, *moved);
    return status;
}

/* The slot begins with what is there of an element that is not complete yet (slot_end bytes). */
static enum status tcp_receive_packed(struct tcp_channel *channel, struct transfer *transfer,
                                      size_t most, size_t *wanted, size_t *moved)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)channel->base.endpoint;
    *wanted = smaller(most, endpoint->slot_bytes - channel->slot_end);
    enum activity before = profile_enter(transfer->profile, PROFILE_COPY);
    ssize_t result =
        recv(channel->socket->fd, channel->slot + channel->slot_end, *wanted, MSG_DONTWAIT);
    enum status status = tcp_moved(channel, before, result, moved);
    if (*moved == 0)
        return status;
    transfer->issued += *moved;
    endpoint->base.traffic.copied_receiving += *moved;
    profile_enter(transfer->profile, transfer_activity(transfer));
    if (transfer->kind == TRANSFER_RECV) {
        cursor_scatter(&transfer->cursor, channel->slot, *moved);
        profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
        return status;
    }
    size_t there = channel->slot_end + *moved;
    size_t whole = there - there % transfer->element;
    cursor_reduce(&transfer->cursor, &transfer->with_cursor, channel->slot, whole, transfer->reduce,
                  transfer->element);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    channel->slot_end = there - whole;
    memmove(channel->slot, channel->slot + whole, channel->slot_end);
    return status;
}

/* One attempt on the first transfer; *again is set if another may be worth it. */
static enum status tcp_step(struct tcp_channel *channel, size_t most, size_t *moved, bool *again)
{
    struct traffic *traffic = &channel->base.endpoint->traffic;
    struct transfer *transfer = channel->base.first;
    enum path path = tcp_path(channel->base.endpoint, transfer);
    size_t wanted = 0, allowed = smaller(transfer->limit - transfer->issued, most);
    bool packed = channel->base.sends && channel->slot_begin < channel->slot_end;
    enum status status = STATUS_OK;
    *moved = 0;
    *again = false;
    if (allowed == 0 && !packed)
        return STATUS_OK;
    if (channel->base.sends) {
        status = (path == PATH_ZCOPY ? tcp_send_straight
                                     : tcp_send_packed)(channel, transfer, allowed, &wanted, moved);
        traffic->sent[path] += *moved;
    } else {
        bool straight = path == PATH_ZCOPY && transfer->kind == TRANSFER_RECV;
        status = (straight ? tcp_receive_straight : tcp_receive_packed)(channel, transfer, allowed,
                                                                        &wanted, moved);
        traffic->received[path] += *moved;
    }
    /* What is done: all that was issued, but for what still stands in the slot. */
    size_t done = transfer->issued - (channel->slot_end - channel->slot_begin);
    if (done > transfer->done)
        transfer_advance(transfer, done - transfer->done);
    if (transfer->done == transfer->length)
        tcp_done(channel);
    *again = *moved == wanted; /* less: the kernel has no more for now */
    return status;
}

static enum status tcp_visit(struct tcp_channel *channel)
{
    size_t left = transfer_turn(channel->base.first, VISIT_LEAST, VISIT_MOST), moved;
    bool again = true;
    while (again && left > 0 && channel->base.first) {
        enum status status = tcp_step(channel, left, &moved, &again);
        if (status != STATUS_OK)
            return status;
        left -= smaller(moved, left);
    }
    return STATUS_OK;
}

/* Asks the kernel which sockets have become worth a try since it was last asked. */
static enum status tcp_look(struct tcp_endpoint *endpoint)
{
    struct epoll_event events[64];
    int count;
    do {
        count = epoll_wait(endpoint->epoll, events, 64, 0);
        if (count < 0 && errno != EINTR)
            return fail(STATUS_ERROR, "epoll_wait failed: %s", strerror(errno));
        for (int i = 0; i < count; i++) {
            struct tcp_socket *it = events[i].data.ptr;
            if (events[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
                it->out.ready = true;
            if (events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP))
                it->in.ready = true;
        }
    } while (count == 64);
    return STATUS_OK;
}

static enum status tcp_progress(struct endpoint *base)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base;
    bool direct = endpoint->active_count <= DIRECT_MOST;
    enum status status = direct ? STATUS_OK : tcp_look(endpoint);
    for (int i = 0; status == STATUS_OK && i < endpoint->active_count;) {
        struct tcp_channel *channel = endpoint->active[i];
        if (direct || channel->ready)
            status = tcp_visit(channel);
        else if (channel->base.sends) /* no room when it was last tried, and none since */
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

/* Has the other end gone, without our having noticed because a limit keeps us from reading, or
 * because we only send? What it sent before it went is still ours. */
static enum status tcp_check(struct endpoint *base)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base;
    for (int i = 0; i < endpoint->active_count; i++) {
        struct tcp_channel *channel = endpoint->active[i];
        struct pollfd look = {.fd = channel->socket->fd, .events = POLLRDHUP};
        if (poll(&look, 1, 0) <= 0)
            continue;
        int there = 0;
        const struct transfer *transfer = channel->base.first;
        if (!channel->base.sends && !ioctl(look.fd, FIONREAD, &there) &&
            (size_t)there >= transfer->length - transfer->issued)
            continue;
        return tcp_lost(&channel->base, "it was closed by the other end");
    }
    return STATUS_OK;
}

static void tcp_socket_free(struct tcp_socket *it)
{
    if (!it)
        return;
    if (it->fd >= 0)
        close(it->fd);
    free(it->out.slot);
    free(it->in.slot);
    free(it);
}

static void tcp_channel_init(struct tcp_channel *channel, struct tcp_socket *it,
                             struct tcp_endpoint *endpoint, int peer, int lane, bool sends)
{
    channel->base =
        (struct channel){.endpoint = &endpoint->base, .peer = peer, .lane = lane, .sends = sends};
    channel->socket = it;
    channel->slot = malloc(endpoint->slot_bytes);
}

/* Room for one more socket: in the peer's lanes, and for its two channels in the active list. */
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

/* Where there is no network there is no congestion: a control that paces what it sends (bbr) takes
 * twice the time of one that does not. Which control the user's network has stays the user's. */
static void tcp_spare_control(int fd)
{
    static const char control[] = "reno"; /* every Linux has it */
    if (socket_stays_here(fd))
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, sizeof(control) - 1);
}

enum status tcp_install(struct tcp_endpoint *endpoint, int peer, int lane, int fd)
{
    struct tcp_socket *it = calloc(1, sizeof(*it));
    if (!it || !tcp_make_room(endpoint, &endpoint->peers[peer], lane)) {
        free(it);
        return fail(STATUS_ERROR, "out of memory for a tcp connection");
    }
    it->fd = -1;
    tcp_channel_init(&it->out, it, endpoint, peer, lane, true);
    tcp_channel_init(&it->in, it, endpoint, peer, lane, false);
    int yes = 1;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = it};
    enum status status = STATUS_OK;
    if (!it->out.slot || !it->in.slot)
        status = fail(STATUS_ERROR, "out of memory for a tcp connection's slots");
    else if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) ||
             epoll_ctl(endpoint->epoll, EPOLL_CTL_ADD, fd, &event))
        status = fail(STATUS_ERROR, "cannot set up a tcp connection: %s", strerror(errno));
    if (status != STATUS_OK) {
        tcp_socket_free(it);
        return status;
    }
    tcp_spare_control(fd);
    it->fd = fd;
    it->out.ready = it->in.ready = true; /* the first try finds out */
    endpoint->peers[peer].lanes[lane] = it;
    endpoint->sockets++;
    return STATUS_OK;
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
    .wait_stats = tcp_wait_stats,
    .activate = tcp_activate,
    .progress = tcp_progress,
    .check = tcp_check,
    .idle_report = tcp_idle_report,
    .close = tcp_close,
};
