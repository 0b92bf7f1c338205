/*
 * channel.c - the data path of tcp: what one channel sends and receives.
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
 */
#include "transports/tcp/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "base/log.h"
#include "transports/tcp/stats.h"

#define ZCOPY_THRESHOLD                                                                            \
    16384                 /* longest message that goes through slots when the user does not say */
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

enum status tcp_channel_progress(struct tcp_channel *channel)
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

/* Has the other end gone, without our having noticed because a limit keeps us from reading, or
 * because we only send? What it sent before it went is still ours. */
enum status tcp_channel_check(const struct tcp_channel *channel)
{
    struct pollfd look = {.fd = channel->socket->fd, .events = POLLRDHUP};
    if (poll(&look, 1, 0) <= 0)
        return STATUS_OK;
    int there = 0;
    const struct transfer *transfer = channel->base.first;
    if (!channel->base.sends && !ioctl(look.fd, FIONREAD, &there) &&
        (size_t)there >= transfer->length - transfer->issued)
        return STATUS_OK;
    return tcp_lost(&channel->base, "it was closed by the other end");
}
