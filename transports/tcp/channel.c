/*
 * channel.c - the data path of tcp: what one channel sends and receives.
 *
 * Both ends know the lengths of their messages, so only payload travels, and TCP's flow control is
 * that of the lane. A send is done when the kernel has taken its bytes, which delivers them without
 * this rank.
 *
 *   zcopy   sendmsg from the pieces of the message, recvmsg into them
 *   bcopy   through a slot on both sides: one packed send, one packed receive
 *
 * A recv_reduce always lands in the slot, since a socket cannot combine, and is combined from there
 * in whole elements. No side waits for a full slot: a limit may grow by one element at a time, so
 * two ranks that each wait for the rest of a slot could wait for ever.
 */
#include "transports/tcp/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"

#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

/*
 * The waits of a connection, and its state while nothing moves, by the kernel's
 * counters (TCP_INFO).
 *
 * A send is done when the kernel has taken its bytes. Only the kernel knows how long they were in
 * flight, how often it sent them again, and that the network no longer delivers them. A peer that
 * is slow or stopped still acknowledges: its kernel does.
 *
 * TCP_INFO needs the kernel's <linux/tcp.h>, which knows more fields than the C library's
 * <netinet/tcp.h>. The two headers exclude each other, hence a file of its own.
 */
/* Acknowledges at once what has arrived. The kernel would wait up to 40 ms for more, and meanwhile
 * the sender's kernel would count the bytes as in flight. */
static void tcp_acknowledge(const struct tcp_channel *channel)
{
    int yes = 1;
    setsockopt(channel->socket->fd, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof yes);
}

/* The channel's first transfer is complete: takes it off the queue. */
static void tcp_done(struct tcp_channel *channel)
{
    bool watches = channel->base.endpoint->config.watches && !channel->base.sends;
    if (watches && channel->base.first->length >= WAIT_STATS_LEAST)
        tcp_acknowledge(channel);
    channel_pop(&channel->base);
}

/* A receiving channel waits for bytes from here on; some have arrived. */
static void tcp_starve_begin(struct tcp_channel *channel)
{
    if (!channel->base.endpoint->watched || channel->starved_since ||
        channel->base.first->length < WAIT_STATS_LEAST)
        return;
    channel->starved_since = clock_ns();
    if (channel->base.first->issued > 0)
        tcp_acknowledge(channel);
}

static void tcp_starve_end(struct tcp_channel *channel)
{
    channel->starved += clock_ns() - channel->starved_since;
    channel->starved_since = 0;
}

void tcp_wait_stats(const struct channel *base, struct wait_stats *wait_stats)
{
    const struct tcp_channel *channel = (const struct tcp_channel *)base;
    *wait_stats = (struct wait_stats){.starved = channel->starved};
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (!base->sends || getsockopt(channel->socket->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return;
    uint64_t full = info.tcpi_rwnd_limited;
    wait_stats->busy = (info.tcpi_busy_time > full ? info.tcpi_busy_time - full : 0) * 1000;
    wait_stats->packets = info.tcpi_data_segs_out;
    wait_stats->least_ns = info.tcpi_min_rtt == UINT32_MAX ? 0 : info.tcpi_min_rtt * 1000ull;
    uint64_t sent = info.tcpi_total_retrans, needless = info.tcpi_dsack_dups;
    wait_stats->resent = sent > needless ? sent - needless : 0;
}

static void socket_idle(int fd, int peer, struct idle_report *idle)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return;
    bool unheard = info.tcpi_unacked > 0 ? info.tcpi_retransmits > 1 : info.tcpi_probes > 1;
    if (unheard && idle->unheard < 0)
        idle->unheard = peer;
    idle->arrived += info.tcpi_bytes_received;
}

void tcp_idle_report(const struct endpoint *base, struct idle_report *idle)
{
    const struct tcp_endpoint *endpoint = (const struct tcp_endpoint *)base;
    for (int peer = 0; peer < base->config.ranks; peer++)
        for (int lane = 0; lane < endpoint->peers[peer].lane_count; lane++) {
            const struct tcp_socket *socket = endpoint->peers[peer].lanes[lane];
            if (socket)
                socket_idle(socket->fd, peer, idle);
        }
}

/*
 * The data path of tcp.
 */
#define ZCOPY_THRESHOLD 16384 /* --copy auto: longer messages go zcopy */
#define VISIT_LEAST     65536 /* bytes of one channel before the next has its turn: at least, */
#define VISIT_MOST      ((size_t)1 << 20) /* and at most */
#define VECTOR_MOST     256               /* pieces in one system call */

static enum status tcp_lost(const struct channel *channel, const char *why)
{
    return fail_peer(REASON_PEER_LOST, channel->peer,
                     "lost the connection to rank %d (tcp, lane %d): %s; see what that rank "
                     "or its host says",
                     channel->peer, channel->lane, why);
}

static enum path tcp_path(enum copy_policy copy, size_t bytes)
{
    switch (copy) {
    case COPY_BCOPY:
        return PATH_BCOPY;
    case COPY_ZCOPY:
        return PATH_ZCOPY;
    default:
        return bytes > ZCOPY_THRESHOLD ? PATH_ZCOPY : PATH_BCOPY;
    }
}

enum path tcp_path_of(const struct path_query *query)
{
    return tcp_path(query->copy, query->bytes);
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

/* Evaluates the result of a system call on the socket. *moved: the bytes that it moved, 0 if it
 * would block. Its time counts as copying if it moved any, else as `before`. */
static enum status tcp_moved(struct tcp_channel *channel, enum activity before, ssize_t result,
                             size_t *moved)
{
    struct profile *profile = channel->base.first->profile;
    *moved = result > 0 ? (size_t)result : 0;
    if (result > 0) {
        profile_enter(profile, PROFILE_BOOKKEEPING);
        if (channel->starved_since)
            tcp_starve_end(channel);
        return STATUS_OK;
    }
    profile_revert(profile, before);
    if (result == 0)
        return tcp_lost(&channel->base, "the other end closed it");
    if (errno == EINTR)
        return STATUS_OK;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return tcp_lost(&channel->base, strerror(errno));
    channel->ready = false;
    if (channel->base.sends)
        profile_starve(profile);
    else
        tcp_starve_begin(channel);
    return STATUS_OK;
}

/* The two ways to send, and the two to receive. Each makes one attempt to move up to `most` bytes
 * (not 0) of the first transfer. *wanted: how many it tried, *moved: how many it moved. */
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

/* The slot begins with the first slot_end bytes of an incomplete element. */
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
    size_t held = channel->slot_end + *moved;
    size_t whole = held - held % transfer->element;
    cursor_reduce(&transfer->cursor, &transfer->with_cursor, channel->slot, whole, transfer->reduce,
                  transfer->element);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    channel->slot_end = held - whole;
    memmove(channel->slot, channel->slot + whole, channel->slot_end);
    return status;
}

/* One attempt on the first transfer. *again: another one may move more. */
static enum status tcp_step(struct tcp_channel *channel, size_t most, size_t *moved, bool *again)
{
    struct traffic *traffic = &channel->base.endpoint->traffic;
    struct transfer *transfer = channel->base.first;
    enum path path = tcp_path(channel->base.endpoint->config.copy, transfer->length);
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
    /* Done: all that was issued, less what is still in the slot. */
    size_t done = transfer->issued - (channel->slot_end - channel->slot_begin);
    if (done > transfer->done)
        transfer_advance(transfer, done - transfer->done);
    if (transfer->done == transfer->length)
        tcp_done(channel);
    *again = *moved == wanted; /* if it moved less, the kernel has no more now */
    return status;
}

enum status tcp_channel_progress(struct tcp_channel *channel)
{
    size_t left = transfer_turn(channel->base.first, VISIT_LEAST, VISIT_MOST), moved;
    bool again = true;
    while (again && left > 0 && channel->base.first) {
        TRY(tcp_step(channel, left, &moved, &again));
        left -= smaller(moved, left);
    }
    return STATUS_OK;
}

/* Looks for a closed connection that no system call has reported, because a limit keeps this rank
 * from reading, or because it only sends. What the peer sent before it closed the connection is
 * valid. */
enum status tcp_channel_check(const struct tcp_channel *channel)
{
    struct pollfd watch = {.fd = channel->socket->fd, .events = POLLRDHUP};
    if (poll(&watch, 1, 0) <= 0)
        return STATUS_OK;
    int unread = 0;
    const struct transfer *transfer = channel->base.first;
    if (!channel->base.sends && !ioctl(watch.fd, FIONREAD, &unread) &&
        (size_t)unread >= transfer->length - transfer->issued)
        return STATUS_OK;
    return tcp_lost(&channel->base, "the other end closed it");
}
