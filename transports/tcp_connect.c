/*
 * tcp_connect.c - how two ranks get the sockets between them.
 *
 * The lower rank listens, the higher connects, and both prove that they know the job's secret. All
 * connections are made at the same time in one loop that never waits for a single one: a stranger
 * that connects and says nothing, or nonsense, costs a descriptor until it is dropped. A connection
 * that fails is tried again (by the peer's next address) until the deadline: its other end may just
 * not have been ready, or may have taken us for a stranger because we were slow.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "handshake.h"
#include "log.h"
#include "tcp.h"

#define STRANGER_SECONDS  5.0  /* how long who connects may take to prove itself */
#define STRANGERS_MOST    64   /* under way at the same time, beyond those that we wait for */
#define ROUTE_SECONDS     2.0  /* how long an address may not answer before the next is tried */
#define HANDSHAKE_SECONDS 10.0 /* how long it may be silent, if there is a next */
#define RETRY_SECONDS     0.02
#define POLL_MILLISECONDS 50

struct tcp_hello {
    uint32_t rank, peer, lane; /* in network order; who accepts does not know the last two */
};
#define HELLO_UNKNOWN UINT32_MAX

/* A connection that is being made: to `peer`, or from somebody who has not said yet who it is. */
struct attempt {
    int fd;                      /* -1: waits until `since` to try again */
    struct handshake *handshake; /* NULL: not connected yet */
    struct tcp_hello hello;
    int peer, lane; /* peer -1: incoming */
    int route;      /* which of the peer's addresses */
    double since;
    char reason[80]; /* why the last try failed */
};

struct meeting {
    struct tcp_endpoint *endpoint;
    const int *peers; /* who is to be connected, on lanes 0 .. lanes - 1 */
    size_t pairs, lanes;
    size_t settled; /* the first so many pairs (peer, lane) have their socket */
    struct attempt *attempts;
    size_t count, room;
    struct pollfd *polled; /* of the attempts, then of the listeners */
};

static enum status out_of_descriptors(void)
{
    return fail(STATUS_ERROR,
                "cannot have another socket: %s; allow more (ulimit -n), or use fewer "
                "--channels or ranks on this host",
                strerror(errno));
}

static void attempt_drop(struct attempt *attempt)
{
    handshake_free(attempt->handshake);
    attempt->handshake = NULL;
    if (attempt->fd >= 0)
        close(attempt->fd);
    attempt->fd = -1;
}

static void stranger_drop(struct meeting *meeting, struct attempt *attempt, const char *why)
{
    meeting->endpoint->strangers++;
    say_verbose(2, "dropped a connection to the tcp data port: it %s", why);
    attempt_drop(attempt);
}

static enum status attempt_greet(struct tcp_endpoint *endpoint, struct attempt *attempt)
{
    bool incoming = attempt->peer < 0;
    attempt->hello = (struct tcp_hello){
        .rank = htonl((uint32_t)endpoint->base.config.rank),
        .peer = htonl(incoming ? HELLO_UNKNOWN : (uint32_t)attempt->peer),
        .lane = htonl(incoming ? HELLO_UNKNOWN : (uint32_t)attempt->lane),
    };
    attempt->handshake = handshake_create(attempt->fd, incoming, endpoint->base.config.secret,
                                          "data", &attempt->hello, sizeof(attempt->hello));
    attempt->since = clock_seconds();
    return attempt->handshake ? STATUS_OK : fail(STATUS_ERROR, "out of memory for a handshake");
}

static int attempt_routes(const struct meeting *meeting, const struct attempt *attempt,
                          struct tcp_address routes[TCP_ADDRESSES_MOST])
{
    const struct tcp_home *home = meeting->endpoint->peers[attempt->peer].home;
    return home ? tcp_routes(&meeting->endpoint->home, home, routes) : 0;
}

/* Failed: the next address, a little later. */
static void attempt_retry(struct attempt *attempt, const char *reason)
{
    attempt_drop(attempt);
    snprintf(attempt->reason, sizeof(attempt->reason), "%s", reason);
    attempt->route++;
    attempt->since = clock_seconds() + RETRY_SECONDS;
}

static enum status attempt_begin(struct meeting *meeting, struct attempt *attempt)
{
    struct tcp_address routes[TCP_ADDRESSES_MOST];
    int count = attempt_routes(meeting, attempt, routes);
    if (count == 0)
        return fail(STATUS_ERROR, "rank %d gave no address to connect to", attempt->peer);
    const struct tcp_address *route = &routes[attempt->route % count];
    struct sockaddr_storage place;
    socklen_t size = tcp_sockaddr(route, &place);
    attempt->fd = socket(route->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (attempt->fd < 0 && errno == EAFNOSUPPORT) {
        attempt_retry(attempt, strerrordesc_np(errno));
        return STATUS_OK;
    }
    if (attempt->fd < 0)
        return out_of_descriptors();
    attempt->since = clock_seconds();
    if (connect(attempt->fd, (struct sockaddr *)&place, size) && errno != EINPROGRESS)
        attempt_retry(attempt, strerrordesc_np(errno));
    return STATUS_OK;
}

/* The other end has proved itself: is it whom it should be? */
static bool attempt_is_welcome(const struct meeting *meeting, const struct attempt *attempt)
{
    const struct transport_config *config = &meeting->endpoint->base.config;
    struct tcp_hello hello;
    size_t size;
    const void *said = handshake_hello(attempt->handshake, &size);
    if (size != sizeof(hello))
        return false;
    memcpy(&hello, said, sizeof(hello));
    uint32_t rank = ntohl(hello.rank);
    if (attempt->peer >= 0)
        return rank == (uint32_t)attempt->peer;
    return rank > (uint32_t)config->rank && rank < (uint32_t)config->ranks &&
           ntohl(hello.peer) == (uint32_t)config->rank && ntohl(hello.lane) < TCP_LANES_MOST;
}

/* A connection is made. One that comes earlier than it is asked for here is kept: its rank is
 * already in the next call. */
static enum status attempt_finish(struct meeting *meeting, struct attempt *attempt)
{
    struct tcp_hello hello;
    size_t size;
    memcpy(&hello, handshake_hello(attempt->handshake, &size), sizeof(hello));
    int peer = (int)ntohl(hello.rank);
    int lane = attempt->peer >= 0 ? attempt->lane : (int)ntohl(hello.lane);
    enum status status = tcp_install(meeting->endpoint, peer, lane, attempt->fd);
    if (status == STATUS_OK)
        attempt->fd = -1;
    attempt_drop(attempt);
    return status;
}

/* Advances one attempt as far as it goes. *over is set when it has come to its end: it is a
 * connection now, or it was a stranger. */
static enum status attempt_step(struct meeting *meeting, struct attempt *attempt, bool *over)
{
    if (!attempt->handshake) {
        int error = 0;
        socklen_t size = sizeof(error);
        getsockopt(attempt->fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error) {
            attempt_retry(attempt, strerrordesc_np(error));
            return STATUS_OK;
        }
        enum status status = attempt_greet(meeting->endpoint, attempt);
        if (status != STATUS_OK)
            return status;
    }
    enum handshake_state state = handshake_step(attempt->handshake);
    if (state == HANDSHAKE_PENDING)
        return STATUS_OK;
    if (state == HANDSHAKE_DONE && attempt_is_welcome(meeting, attempt)) {
        *over = true;
        return attempt_finish(meeting, attempt);
    }
    const char *reason = state == HANDSHAKE_DONE ? "is another rank than it should be"
                                                 : handshake_reason(attempt->handshake);
    if (attempt->peer >= 0) {
        attempt_retry(attempt, reason);
        return STATUS_OK;
    }
    stranger_drop(meeting, attempt, reason);
    *over = true;
    return STATUS_OK;
}

/* Who has had its time. */
static void attempt_age(struct meeting *meeting, struct attempt *attempt, bool *over)
{
    double age = clock_seconds() - attempt->since;
    struct tcp_address routes[TCP_ADDRESSES_MOST];
    if (attempt->fd < 0)
        return;
    if (attempt->peer < 0) {
        *over = age > STRANGER_SECONDS;
        if (*over)
            stranger_drop(meeting, attempt, "did not prove itself in time");
    } else if (!attempt->handshake) {
        if (age > ROUTE_SECONDS)
            attempt_retry(attempt, "no answer");
    } else if (age > HANDSHAKE_SECONDS && attempt_routes(meeting, attempt, routes) > 1) {
        attempt_retry(attempt, "it accepts, but says nothing");
    }
}

static bool meeting_is_over(struct meeting *meeting)
{
    while (meeting->settled < meeting->pairs &&
           tcp_socket_find(meeting->endpoint, meeting->peers[meeting->settled / meeting->lanes],
                           (int)(meeting->settled % meeting->lanes)))
        meeting->settled++;
    return meeting->settled == meeting->pairs;
}

static enum status meeting_accept(struct meeting *meeting, int listener)
{
    while (meeting->count < meeting->room) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE))
            return out_of_descriptors();
        if (fd < 0) /* nobody is there any more, or who was has gone */
            return STATUS_OK;
        struct attempt *attempt = &meeting->attempts[meeting->count++];
        *attempt = (struct attempt){.fd = fd, .peer = -1};
        enum status status = attempt_greet(meeting->endpoint, attempt);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* One look at all attempts and listeners. */
static enum status meeting_turn(struct meeting *meeting)
{
    const struct tcp_listeners *listeners = &meeting->endpoint->listeners;
    size_t count = meeting->count;
    for (size_t i = 0; i < count; i++) {
        struct attempt *attempt = &meeting->attempts[i];
        if (attempt->fd < 0 && clock_seconds() >= attempt->since) {
            enum status status = attempt_begin(meeting, attempt);
            if (status != STATUS_OK)
                return status;
        }
        meeting->polled[i] = (struct pollfd){
            .fd = attempt->fd,
            .events = attempt->handshake ? handshake_events(attempt->handshake) : POLLOUT};
    }
    struct pollfd *doors = meeting->polled + count;
    for (int i = 0; i < listeners->count; i++)
        doors[i] =
            (struct pollfd){.fd = listeners->fd[i], .events = count < meeting->room ? POLLIN : 0};
    if (poll(meeting->polled, count + (size_t)listeners->count, POLL_MILLISECONDS) < 0 &&
        errno != EINTR)
        return fail(STATUS_ERROR, "poll failed: %s", strerror(errno));
    for (size_t i = count; i-- > 0;) { /* downwards: the last takes the place of one that is over */
        bool over = false;
        enum status status = STATUS_OK;
        if (meeting->polled[i].fd >= 0 && meeting->polled[i].revents)
            status = attempt_step(meeting, &meeting->attempts[i], &over);
        if (status != STATUS_OK)
            return status;
        if (!over)
            attempt_age(meeting, &meeting->attempts[i], &over);
        if (over)
            meeting->attempts[i] = meeting->attempts[--meeting->count];
    }
    for (int i = 0; i < listeners->count; i++) {
        enum status status =
            doors[i].revents ? meeting_accept(meeting, listeners->fd[i]) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* The deadline has passed: who is missing, and what do we know about it? */
static enum status meeting_late(const struct meeting *meeting)
{
    const struct transport_config *config = &meeting->endpoint->base.config;
    int peer = meeting->peers[meeting->settled / meeting->lanes];
    int lane = (int)(meeting->settled % meeting->lanes);
    if (peer > config->rank)
        return fail(STATUS_TIMEOUT,
                    "rank %d has not connected to rank %d (tcp, lane %d) within %g s; "
                    "see what that rank says, or whether a firewall stands between the hosts",
                    peer, config->rank, lane, config->timeout);
    const char *reason = "no answer";
    char where[TCP_ADDRESS_TEXT] = "an unknown address";
    for (size_t i = 0; i < meeting->count; i++) {
        struct tcp_address routes[TCP_ADDRESSES_MOST];
        const struct attempt *attempt = &meeting->attempts[i];
        if (attempt->peer != peer || attempt->lane != lane)
            continue;
        if (attempt->reason[0])
            reason = attempt->reason;
        if (attempt_routes(meeting, attempt, routes) > 0)
            tcp_address_text(&routes[0], where);
    }
    return fail(STATUS_TIMEOUT,
                "rank %d could not connect to rank %d (tcp, at %s and its other "
                "addresses) within %g s: %s; see what that rank says, or choose another network "
                "interface",
                config->rank, peer, where, config->timeout, reason);
}

static enum status meeting_hold(struct meeting *meeting)
{
    const struct transport_config *config = &meeting->endpoint->base.config;
    double deadline = clock_seconds() + config->timeout;
    while (!meeting_is_over(meeting)) {
        if (config->ended && config->ended(config->ended_argument))
            return fail(STATUS_ERROR, "gave up connecting, because the job has ended");
        if (clock_seconds() > deadline)
            return meeting_late(meeting);
        enum status status = meeting_turn(meeting);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status tcp_connect(struct endpoint *base, const int *peers, int count, int lanes)
{
    struct meeting meeting = {.endpoint = (struct tcp_endpoint *)base,
                              .peers = peers,
                              .pairs = (size_t)count * (size_t)lanes,
                              .lanes = (size_t)lanes};
    uint64_t strangers = meeting.endpoint->strangers;
    meeting.room = meeting.pairs + STRANGERS_MOST;
    meeting.attempts = calloc(meeting.room, sizeof(*meeting.attempts));
    meeting.polled = calloc(meeting.room + TCP_ADDRESSES_MOST, sizeof(*meeting.polled));
    enum status status = STATUS_OK;
    if (!meeting.attempts || !meeting.polled)
        status = fail(STATUS_ERROR, "out of memory for connecting");
    for (size_t i = 0; status == STATUS_OK && i < meeting.pairs; i++) {
        int peer = peers[i / meeting.lanes], lane = (int)(i % meeting.lanes);
        if (peer < base->config.rank && !tcp_socket_find(meeting.endpoint, peer, lane))
            meeting.attempts[meeting.count++] =
                (struct attempt){.fd = -1, .peer = peer, .lane = lane};
    }
    if (status == STATUS_OK)
        status = meeting_hold(&meeting);
    while (meeting.count > 0) {
        struct attempt *attempt = &meeting.attempts[--meeting.count];
        if (attempt->peer < 0)
            stranger_drop(&meeting, attempt, "did not prove itself before all ranks were here");
        else
            attempt_drop(attempt);
    }
    free(meeting.attempts);
    free(meeting.polled);
    if (meeting.endpoint->strangers > strangers)
        say_verbose(1, "dropped %llu connections to the tcp data port that were none of this job's",
                    (unsigned long long)(meeting.endpoint->strangers - strangers));
    return status;
}
