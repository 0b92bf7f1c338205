/*
 * connect.c - how two ranks get the sockets between them.
 *
 * The lower rank listens (acceptor.h), the higher connects, and both prove that they know the job's
 * secret. All connections are made at the same time in one loop that never waits for a single one.
 * One that fails is tried again (by the peer's next address), for as long as anybody progresses:
 * its other end may just not have been ready, or may have taken us for a stranger because we were
 * slow.
 *
 * The connecting end may lose patience and turn to another address, so it has the last word: one
 * byte behind the handshake says that it keeps this connection. Without it the other end, when it
 * had slept, would take a connection that nobody holds any more.
 */
#include "transports/tcp/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/acceptor.h"
#include "net/socket.h"
#include "transports/tcp/socket.h"

#define STRANGER_SECONDS  5.0  /* how long who connects may take to prove itself */
#define STRANGERS_MOST    64   /* guests at the same time, beyond those that we wait for */
#define ROUTE_SECONDS     2.0  /* how long an address may not answer before the next is tried */
#define HANDSHAKE_SECONDS 10.0 /* how long it may be silent, if there is a next */
#define RETRY_SECONDS     0.02
#define POLL_MILLISECONDS 50

struct tcp_hello {
    uint32_t rank, peer, lane; /* in network order; who accepts does not know the last two */
};
#define HELLO_UNKNOWN UINT32_MAX

/* A connection that is being made: to `peer`, or from it. */
struct attempt {
    int fd;                      /* -1: waits until `since` to try again */
    struct handshake *handshake; /* NULL: not connected yet */
    int peer, lane;              /* peer -1: it is over */
    bool incoming;               /* has proved itself: only its last word is missing */
    int route;                   /* which of the peer's addresses, */
    int rounds;                  /* and how often all of them have failed */
    double since;
    const char *outcomes[ADDRESSES_MOST]; /* of the last try at each of them; NULL: none */
};

struct meeting {
    struct tcp_endpoint *endpoint;
    const int *peers; /* who is to be connected, on lanes 0 .. lanes - 1 */
    size_t pairs, lanes;
    size_t settled; /* the first so many pairs (peer, lane) have their socket */
    struct attempt *attempts;
    size_t count;
    size_t most;           /* attempts and guests, beyond those whom it finds at the door */
    struct pollfd *polled; /* of the attempts, then of the door */
};

static const char silent[] = "it accepts, but says nothing";

static bool lacks_descriptors(void)
{
    return errno == EMFILE || errno == ENFILE;
}

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

/* Takes out the attempts that are over. */
static void meeting_sweep(struct meeting *meeting)
{
    size_t kept = 0;
    for (size_t i = 0; i < meeting->count; i++) {
        if (meeting->attempts[i].peer >= 0)
            meeting->attempts[kept++] = meeting->attempts[i];
    }
    meeting->count = kept;
}

static struct tcp_hello hello_to(const struct tcp_endpoint *endpoint, uint32_t peer, uint32_t lane)
{
    uint32_t rank = (uint32_t)endpoint->base.config.rank;
    return (struct tcp_hello){.rank = htonl(rank), .peer = htonl(peer), .lane = htonl(lane)};
}

static int attempt_routes(const struct meeting *meeting, const struct attempt *attempt,
                          struct address routes[ADDRESSES_MOST])
{
    const struct address_list *home = meeting->endpoint->peers[attempt->peer].home;
    return home ? addresses_routes(&meeting->endpoint->home, home, routes) : 0;
}

/* Failed (`reason` is static): the next address, a little later. */
static void attempt_retry(const struct meeting *meeting, struct attempt *attempt,
                          const char *reason)
{
    struct address routes[ADDRESSES_MOST];
    attempt_drop(attempt);
    attempt->outcomes[attempt->route] = reason;
    attempt->route = (attempt->route + 1) % attempt_routes(meeting, attempt, routes);
    attempt->rounds += attempt->route == 0;
    attempt->since = clock_seconds() + RETRY_SECONDS;
}

static enum status attempt_begin(struct meeting *meeting, struct attempt *attempt)
{
    struct address routes[ADDRESSES_MOST];
    int count = attempt_routes(meeting, attempt, routes);
    if (count == 0)
        return fail(STATUS_ERROR, "rank %d gave no address to connect to", attempt->peer);
    do
        attempt->fd = socket_connect(&routes[attempt->route]);
    while (attempt->fd < 0 && lacks_descriptors() &&
           acceptor_turn_out(&meeting->endpoint->acceptor,
                             "had not proved itself when its place was needed"));
    if (attempt->fd < 0 && lacks_descriptors())
        return out_of_descriptors();
    attempt->since = clock_seconds();
    if (attempt->fd < 0)
        attempt_retry(meeting, attempt, strerrordesc_np(errno));
    return STATUS_OK;
}

bool tcp_hello_read(const void *said, size_t size, const struct transport_config *config,
                    int expected, int *peer, int *lane)
{
    struct tcp_hello hello;
    if (size != sizeof(hello))
        return false;
    memcpy(&hello, said, sizeof(hello));
    uint32_t rank = ntohl(hello.rank), number = ntohl(hello.lane);
    *peer = (int)rank;
    *lane = (int)number;
    bool above = rank > (uint32_t)config->rank && rank < (uint32_t)config->ranks;
    return expected >= 0
               ? rank == (uint32_t)expected
               : above && ntohl(hello.peer) == (uint32_t)config->rank && number < TCP_LANES_MOST;
}

/* Who has proved itself at the door. */
static const char *meeting_admit(void *argument, int fd, const struct handshake *handshake)
{
    struct meeting *meeting = argument;
    struct tcp_endpoint *endpoint = meeting->endpoint;
    struct attempt attempt = {.fd = fd, .incoming = true};
    size_t size;
    const void *said = handshake_hello(handshake, &size);
    if (!tcp_hello_read(said, size, &endpoint->base.config, -1, &attempt.peer, &attempt.lane) ||
        tcp_socket_find(endpoint, attempt.peer, attempt.lane))
        return "is another rank than it should be";
    meeting->attempts[meeting->count++] = attempt;
    endpoint->acceptor.most -= endpoint->acceptor.most > 0; /* its place goes with it */
    return NULL;
}

/* The last word: said by who connects, heard by who accepts. Then a connection is made. One that
 * comes earlier than it is asked for here is kept: its rank is already in the next call. */
static enum status attempt_conclude(struct meeting *meeting, struct attempt *attempt)
{
    char word = 1;
    ssize_t moved = attempt->incoming ? recv(attempt->fd, &word, 1, 0)
                                      : send(attempt->fd, &word, 1, MSG_NOSIGNAL);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR))
        return STATUS_OK;
    enum status status = STATUS_OK;
    if (moved == 1) {
        status = tcp_socket_install(meeting->endpoint, attempt->peer, attempt->lane, attempt->fd);
        if (status == STATUS_OK)
            attempt->fd = -1;
        tick_on(meeting->endpoint->base.config.tick);
    } else if (attempt->incoming) {
        meeting->endpoint->base.strangers++;
        say_verbose(2, "dropped rank %d's connection, which it gave up", attempt->peer);
    } else {
        attempt_retry(meeting, attempt, "gave up before the connection was made");
        return STATUS_OK;
    }
    attempt_drop(attempt);
    attempt->peer = -1;
    return status;
}

static enum status attempt_greet(struct meeting *meeting, struct attempt *attempt)
{
    const struct tcp_endpoint *endpoint = meeting->endpoint;
    struct tcp_hello hello = hello_to(endpoint, (uint32_t)attempt->peer, (uint32_t)attempt->lane);
    attempt->handshake = handshake_create(attempt->fd, false, endpoint->base.config.secret, "data",
                                          &hello, sizeof(hello));
    attempt->since = clock_seconds();
    return attempt->handshake ? STATUS_OK : fail(STATUS_ERROR, "out of memory for a handshake");
}

/* Advances one attempt as far as it goes. */
static enum status attempt_step(struct meeting *meeting, struct attempt *attempt)
{
    if (attempt->incoming)
        return attempt_conclude(meeting, attempt);
    if (!attempt->handshake) {
        int error = socket_connect_result(attempt->fd);
        if (error) {
            attempt_retry(meeting, attempt, strerrordesc_np(error));
            return STATUS_OK;
        }
        enum status status = attempt_greet(meeting, attempt);
        if (status != STATUS_OK)
            return status;
    }
    enum handshake_state state = handshake_step(attempt->handshake);
    if (state == HANDSHAKE_PENDING)
        return STATUS_OK;
    int peer, lane;
    size_t size;
    const void *said = handshake_hello(attempt->handshake, &size);
    if (state == HANDSHAKE_DONE &&
        tcp_hello_read(said, size, &meeting->endpoint->base.config, attempt->peer, &peer, &lane))
        return attempt_conclude(meeting, attempt);
    attempt_retry(meeting, attempt,
                  state == HANDSHAKE_DONE ? "is another rank than it should be"
                                          : handshake_reason(attempt->handshake));
    return STATUS_OK;
}

/* Who has had its time. */
static void attempt_age(struct meeting *meeting, struct attempt *attempt)
{
    double age = clock_seconds() - attempt->since;
    struct address routes[ADDRESSES_MOST];
    if (attempt->fd < 0 || attempt->incoming)
        return;
    int count = attempt_routes(meeting, attempt, routes);
    /* Each of them gets its turn before the deadline; then more time, as its other end may need. */
    double timeout = ldexp(meeting->endpoint->base.config.timeout, attempt->rounds);
    if (!attempt->handshake && age > fmin(ROUTE_SECONDS, timeout / (2 * count)))
        attempt_retry(meeting, attempt, "no answer");
    else if (attempt->handshake && count > 1 && age > fmin(HANDSHAKE_SECONDS, timeout / 4))
        attempt_retry(meeting, attempt, silent);
}

static bool meeting_is_over(struct meeting *meeting)
{
    while (meeting->settled < meeting->pairs &&
           tcp_socket_find(meeting->endpoint, meeting->peers[meeting->settled / meeting->lanes],
                           (int)(meeting->settled % meeting->lanes)))
        meeting->settled++;
    return meeting->settled == meeting->pairs;
}

/* How many connections from other ranks are still to come in. */
static size_t meeting_awaits(const struct meeting *meeting)
{
    size_t awaited = 0;
    for (size_t i = meeting->settled; i < meeting->pairs; i++) {
        int peer = meeting->peers[i / meeting->lanes];
        awaited += peer > meeting->endpoint->base.config.rank &&
                   !tcp_socket_find(meeting->endpoint, peer, (int)(i % meeting->lanes));
    }
    return awaited;
}

/* Connections whose other end may be using them already: they must not be dropped. */
static size_t meeting_proved(const struct meeting *meeting)
{
    size_t proved = 0;
    for (size_t i = 0; i < meeting->count; i++)
        proved += meeting->attempts[i].incoming && meeting->attempts[i].peer >= 0;
    return proved;
}

/* Waits a moment for something to happen to the attempts, or at the door. */
static enum status meeting_poll(struct meeting *meeting)
{
    for (size_t i = 0; i < meeting->count; i++) {
        const struct attempt *attempt = &meeting->attempts[i];
        short events = attempt->incoming ? POLLIN : POLLOUT;
        if (attempt->handshake)
            events = handshake_events(attempt->handshake);
        meeting->polled[i] = (struct pollfd){.fd = attempt->fd, .events = events};
    }
    struct acceptor *acceptor = &meeting->endpoint->acceptor;
    bool open = meeting->count < meeting->most && meeting_awaits(meeting) > 0;
    acceptor->most = open ? (int)(meeting->most - meeting->count) : 0;
    int pending = acceptor_watch(acceptor, meeting->polled + meeting->count, clock_seconds());
    if (poll(meeting->polled, meeting->count + (size_t)pending, POLL_MILLISECONDS) < 0 &&
        errno != EINTR)
        return fail(STATUS_ERROR, "poll failed: %s", strerror(errno));
    return STATUS_OK;
}

/* One look at who is at the door. That there is no descriptor for one more matters only if it may be
 * a rank of ours. */
static enum status meeting_receive(struct meeting *meeting, const struct pollfd *polled)
{
    struct acceptor *acceptor = &meeting->endpoint->acceptor;
    acceptor->exhausted = false;
    acceptor_serve(acceptor, polled, clock_seconds());
    errno = EMFILE;
    return acceptor->exhausted && meeting_awaits(meeting) > meeting_proved(meeting)
               ? out_of_descriptors()
               : STATUS_OK;
}

/* One look at all attempts, and at the door. */
static enum status meeting_turn(struct meeting *meeting)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < meeting->count; i++) {
        struct attempt *attempt = &meeting->attempts[i];
        if (attempt->peer >= 0 && attempt->fd < 0 && clock_seconds() >= attempt->since)
            status = attempt_begin(meeting, attempt);
    }
    meeting_sweep(meeting);
    if (status == STATUS_OK)
        status = meeting_poll(meeting);
    size_t polled = meeting->count;
    for (size_t i = 0; status == STATUS_OK && i < polled; i++) {
        if (meeting->polled[i].fd >= 0 && meeting->polled[i].revents)
            status = attempt_step(meeting, &meeting->attempts[i]);
        attempt_age(meeting, &meeting->attempts[i]);
    }
    if (status == STATUS_OK)
        status = meeting_receive(meeting, meeting->polled + polled);
    meeting_sweep(meeting);
    return status;
}

/* The first peer that is not connected. */
static int meeting_awaited(const struct meeting *meeting)
{
    return meeting->peers[meeting->settled / meeting->lanes];
}

/* Nobody progresses any more: who is missing here, and what do we know about it? */
static enum status meeting_late(const struct meeting *meeting)
{
    const struct transport_config *config = &meeting->endpoint->base.config;
    int peer = meeting_awaited(meeting);
    int lane = (int)(meeting->settled % meeting->lanes);
    if (peer > config->rank)
        return fail_peer(
            REASON_PEER_LATE, peer,
            "rank %d has not connected to rank %d (tcp, lane %d) within %g s, and %llu "
            "strangers were dropped; see what that rank says, or whether a firewall stands "
            "between the hosts",
            peer, config->rank, lane, config->timeout,
            (unsigned long long)meeting->endpoint->base.strangers);
    char tried[600] = "";
    for (size_t i = 0; i < meeting->count; i++) {
        struct address routes[ADDRESSES_MOST];
        struct attempt *attempt = &meeting->attempts[i];
        if (attempt->peer != peer || attempt->lane != lane)
            continue;
        if (attempt->fd >= 0) /* it is being tried */
            attempt->outcomes[attempt->route] = attempt->handshake ? silent : "no answer";
        int count = attempt_routes(meeting, attempt, routes);
        routes_text(routes, attempt->outcomes, count, tried, sizeof(tried));
    }
    return fail_peer(
        REASON_PEER_LATE, peer,
        "rank %d could not connect to rank %d (tcp) within %g s: %s; see what that rank "
        "says, whether a firewall stands between the hosts, or choose another network with "
        "--interface",
        config->rank, peer, config->timeout, tried);
}

static enum status meeting_hold(struct meeting *meeting)
{
    const struct transport_config *config = &meeting->endpoint->base.config;
    while (!meeting_is_over(meeting) || meeting_proved(meeting) > 0) {
        bool over = meeting_is_over(meeting);
        int peer = over ? -1 : meeting_awaited(meeting);
        enum tick_answer answer = tick_wait(config->tick, peer);
        if (answer == TICK_ENDED)
            return fail(STATUS_ERROR, "gave up connecting, because the job has ended");
        if (answer == TICK_LATE)
            return over ? STATUS_OK : meeting_late(meeting);
        enum status status = meeting_turn(meeting);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void tcp_prepare(struct tcp_endpoint *endpoint)
{
    struct tcp_hello hello = hello_to(endpoint, HELLO_UNKNOWN, HELLO_UNKNOWN);
    endpoint->acceptor = (struct acceptor){
        .listeners = &endpoint->listeners,
        .secret = endpoint->base.config.secret,
        .purpose = "data",
        .hello_size = sizeof(hello),
        .seconds = STRANGER_SECONDS,
        .spare = -1,
        .admit = meeting_admit,
        .strangers = &endpoint->base.strangers,
    };
    memcpy(endpoint->acceptor.hello, &hello, sizeof(hello));
}

enum status tcp_connect(struct endpoint *base, const int *peers, int count, int lanes)
{
    struct meeting meeting = {.endpoint = (struct tcp_endpoint *)base,
                              .peers = peers,
                              .pairs = (size_t)count * (size_t)lanes,
                              .lanes = (size_t)lanes};
    struct acceptor *acceptor = &meeting.endpoint->acceptor;
    meeting.most = meeting.pairs + STRANGERS_MOST;
    size_t room = meeting.most + (size_t)acceptor->count;
    meeting.attempts = calloc(room, sizeof(*meeting.attempts));
    meeting.polled = calloc(room + ADDRESSES_MOST, sizeof(*meeting.polled));
    acceptor->most = (int)room;
    acceptor->argument = &meeting;
    enum status status = STATUS_OK;
    if (!acceptor_open(acceptor, clock_seconds()) || !meeting.attempts || !meeting.polled)
        status = fail(STATUS_ERROR, "out of memory for connecting");
    for (size_t i = 0; status == STATUS_OK && i < meeting.pairs; i++) {
        int peer = peers[i / meeting.lanes], lane = (int)(i % meeting.lanes);
        if (peer < base->config.rank && !tcp_socket_find(meeting.endpoint, peer, lane))
            meeting.attempts[meeting.count++] =
                (struct attempt){.fd = -1, .peer = peer, .lane = lane};
    }
    if (status == STATUS_OK)
        status = meeting_hold(&meeting);
    for (size_t i = 0; i < meeting.count; i++) {
        base->strangers += meeting.attempts[i].incoming;
        attempt_drop(&meeting.attempts[i]);
    }
    free(meeting.attempts);
    free(meeting.polled);
    acceptor->argument = NULL;
    return status;
}

void tcp_settle(struct endpoint *base)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base;
    while (acceptor_turn_out(&endpoint->acceptor,
                             "had not proved itself when nobody was awaited any more"))
        ;
    acceptor_close(&endpoint->acceptor);
    listeners_close(&endpoint->listeners);
}
