/*
 * connect.c - makes the sockets between this rank and its peers.
 *
 * The lower rank listens (base/net/net.h), the higher one connects, and both prove that they know
 * the job's secret. One loop makes all connections at the same time, and never waits for a single
 * one. A failed attempt is repeated, by the peer's next address, for as long as any rank
 * progresses: the peer may not have been ready, or may have rejected a connection that was slow.
 *
 * The connecting end may give up an attempt and try another address. So it confirms the connection
 * that it keeps by one byte after the handshake. Otherwise a peer that had slept would accept a
 * connection that is already closed.
 */
#include "transports/tcp/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#define PENDING_SECONDS   5.0  /* for an incoming connection to prove itself */
#define PENDING_MOST      64   /* incoming connections at a time, beyond the awaited ones */
#define ROUTE_SECONDS     2.0  /* without an answer; then the next address is tried */
#define HANDSHAKE_SECONDS 10.0 /* without the end of the handshake, if there is a next address */
#define RETRY_SECONDS     0.02
#define POLL_MILLISECONDS 50

struct tcp_hello {
    uint32_t rank, peer, lane; /* in network order; an accepting rank does not know the last two */
};
#define HELLO_UNKNOWN UINT32_MAX

enum attempt_state {
    ATTEMPT_WAITS,     /* until `since`, to try again; no socket */
    ATTEMPT_CONNECTS,  /* connect() is under way */
    ATTEMPT_HANDSHAKE, /* so is the handshake, or the confirmation cannot be sent yet */
    ATTEMPT_INCOMING,  /* accepted, and proved; the confirmation is missing */
    ATTEMPT_OVER,      /* to be removed; no socket */
};

/* A connection that is being made, to `peer` or from it. */
struct attempt {
    enum attempt_state state;
    int fd;                      /* -1: none */
    struct handshake *handshake; /* ATTEMPT_HANDSHAKE; else NULL */
    int peer, lane;
    int route;                            /* index of the address that is tried */
    int failures;                         /* how often all addresses have failed */
    double since;                         /* of the state */
    const char *outcomes[ADDRESSES_MOST]; /* of the last try at each address; NULL: none */
};

/* One call of tcp_connect(). */
struct round {
    struct tcp_endpoint *endpoint;
    const int *peers; /* to be connected, on lanes 0 .. lanes - 1 */
    size_t pairs, lanes;
    size_t connected; /* so many pairs (peer, lane), the first ones, have their socket */
    struct attempt *attempts;
    size_t count;
    size_t most; /* attempts and pending connections, without the ones of earlier rounds */
    struct pollfd *polled; /* of the attempts, then of the acceptor */
};

static const char silent[] = "accepts connections, but does not answer";

static bool lacks_descriptors(void)
{
    return errno == EMFILE || errno == ENFILE;
}

static enum status out_of_descriptors(void)
{
    return fail_option(STATUS_ERROR, "channels",
                       "cannot open another socket: %s; allow more (ulimit -n), or use fewer "
                       "--channels or ranks on this host",
                       strerror(errno));
}

static void attempt_close(struct attempt *attempt, enum attempt_state state)
{
    attempt->state = state;
    handshake_free(attempt->handshake);
    attempt->handshake = NULL;
    if (attempt->fd >= 0)
        close(attempt->fd);
    attempt->fd = -1;
}

/* Removes the attempts that are over. */
static void round_sweep(struct round *round)
{
    size_t kept = 0;
    for (size_t i = 0; i < round->count; i++) {
        if (round->attempts[i].state != ATTEMPT_OVER)
            round->attempts[kept++] = round->attempts[i];
    }
    round->count = kept;
}

static struct tcp_hello hello_to(const struct tcp_endpoint *endpoint, uint32_t peer, uint32_t lane)
{
    uint32_t rank = (uint32_t)endpoint->base.config.rank;
    return (struct tcp_hello){.rank = htonl(rank), .peer = htonl(peer), .lane = htonl(lane)};
}

static int attempt_routes(const struct round *round, const struct attempt *attempt,
                          struct address routes[ADDRESSES_MOST])
{
    const struct address_list *home = round->endpoint->peers[attempt->peer].home;
    return home ? addresses_routes(&round->endpoint->home, home, routes) : 0;
}

/* It failed (`reason` is static): the next address, a little later. */
static void attempt_retry(const struct round *round, struct attempt *attempt, const char *reason)
{
    struct address routes[ADDRESSES_MOST];
    attempt_close(attempt, ATTEMPT_WAITS);
    attempt->outcomes[attempt->route] = reason;
    attempt->route = (attempt->route + 1) % attempt_routes(round, attempt, routes);
    attempt->failures += attempt->route == 0;
    attempt->since = clock_seconds() + RETRY_SECONDS;
}

static enum status attempt_begin(struct round *round, struct attempt *attempt)
{
    struct address routes[ADDRESSES_MOST];
    int count = attempt_routes(round, attempt, routes);
    if (count == 0)
        return fail(STATUS_ERROR, "rank %d gave no address to connect to", attempt->peer);
    do
        attempt->fd = socket_connect(&routes[attempt->route], 0);
    while (attempt->fd < 0 && lacks_descriptors() &&
           acceptor_drop_oldest(&round->endpoint->acceptor,
                                "had not proved itself when its place was needed"));
    if (attempt->fd < 0 && lacks_descriptors())
        return out_of_descriptors();
    attempt->state = ATTEMPT_CONNECTS;
    attempt->since = clock_seconds();
    if (attempt->fd < 0)
        attempt_retry(round, attempt, strerrordesc_np(errno));
    return STATUS_OK;
}

bool tcp_hello_read(const void *hello_bytes, size_t size, const struct transport_config *config,
                    int expected, int *peer, int *lane)
{
    struct tcp_hello hello;
    if (size != sizeof(hello))
        return false;
    memcpy(&hello, hello_bytes, sizeof(hello));
    uint32_t rank = ntohl(hello.rank), number = ntohl(hello.lane);
    *peer = (int)rank;
    *lane = (int)number;
    bool above = rank > (uint32_t)config->rank && rank < (uint32_t)config->ranks;
    return expected >= 0
               ? rank == (uint32_t)expected
               : above && ntohl(hello.peer) == (uint32_t)config->rank && number < TCP_LANES_MOST;
}

/* An incoming connection has proved itself. */
static const char *round_admit(void *argument, int fd, const struct handshake *handshake)
{
    struct round *round = argument;
    struct tcp_endpoint *endpoint = round->endpoint;
    struct attempt attempt = {.fd = fd, .state = ATTEMPT_INCOMING};
    size_t size;
    const void *hello = handshake_hello(handshake, &size);
    if (!tcp_hello_read(hello, size, &endpoint->base.config, -1, &attempt.peer, &attempt.lane) ||
        tcp_socket_find(endpoint, attempt.peer, attempt.lane))
        return "is not the expected rank";
    round->attempts[round->count++] = attempt;
    endpoint->acceptor.most -= endpoint->acceptor.most > 0; /* it takes its place along */
    return NULL;
}

/* Sends or receives the confirmation. Then the connection is made, and is kept also if this call
 * does not need it: the peer may already be in the next one. */
static enum status attempt_confirm(struct round *round, struct attempt *attempt)
{
    char confirmation = 1;
    bool incoming = attempt->state == ATTEMPT_INCOMING;
    ssize_t moved = incoming ? recv(attempt->fd, &confirmation, 1, 0)
                             : send(attempt->fd, &confirmation, 1, MSG_NOSIGNAL);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR))
        return STATUS_OK;
    enum status status = STATUS_OK;
    if (moved == 1) {
        status = tcp_socket_install(round->endpoint, attempt->peer, attempt->lane, attempt->fd);
        if (status == STATUS_OK)
            attempt->fd = -1;
        tick_on(round->endpoint->base.config.tick);
    } else if (incoming) {
        round->endpoint->base.rejected++;
        say_verbose(2, "dropped a connection that rank %d has given up", attempt->peer);
    } else {
        attempt_retry(round, attempt, "closed the connection before it was confirmed");
        return STATUS_OK;
    }
    attempt_close(attempt, ATTEMPT_OVER);
    return status;
}

static enum status attempt_handshake(struct round *round, struct attempt *attempt)
{
    const struct tcp_endpoint *endpoint = round->endpoint;
    struct tcp_hello hello = hello_to(endpoint, (uint32_t)attempt->peer, (uint32_t)attempt->lane);
    attempt->handshake = handshake_create(attempt->fd, false, endpoint->base.config.secret, "data",
                                          &hello, sizeof(hello));
    attempt->state = ATTEMPT_HANDSHAKE;
    attempt->since = clock_seconds();
    return attempt->handshake ? STATUS_OK : fail(STATUS_ERROR, "out of memory for a handshake");
}

/* Advances one attempt as far as it goes. */
static enum status attempt_step(struct round *round, struct attempt *attempt)
{
    if (attempt->state == ATTEMPT_INCOMING)
        return attempt_confirm(round, attempt);
    if (attempt->state == ATTEMPT_CONNECTS) {
        int error = socket_connect_result(attempt->fd);
        if (error) {
            attempt_retry(round, attempt, strerrordesc_np(error));
            return STATUS_OK;
        }
        TRY(attempt_handshake(round, attempt));
    }
    enum handshake_state state = handshake_step(attempt->handshake);
    if (state == HANDSHAKE_PENDING)
        return STATUS_OK;
    int peer, lane;
    size_t size;
    const void *hello = handshake_hello(attempt->handshake, &size);
    if (state == HANDSHAKE_DONE &&
        tcp_hello_read(hello, size, &round->endpoint->base.config, attempt->peer, &peer, &lane))
        return attempt_confirm(round, attempt);
    attempt_retry(round, attempt,
                  state == HANDSHAKE_DONE ? "is not the expected rank"
                                          : handshake_reason(attempt->handshake));
    return STATUS_OK;
}

/* Gives up an address that has had its time. */
static void attempt_age(struct round *round, struct attempt *attempt)
{
    double age = clock_seconds() - attempt->since;
    struct address routes[ADDRESSES_MOST];
    if (attempt->state != ATTEMPT_CONNECTS && attempt->state != ATTEMPT_HANDSHAKE)
        return;
    int count = attempt_routes(round, attempt, routes);
    /* Each address gets its turn before the deadline; later more time, which the peer may need. */
    double timeout = ldexp(round->endpoint->base.config.timeout, attempt->failures);
    if (attempt->state == ATTEMPT_CONNECTS && age > fmin(ROUTE_SECONDS, timeout / (2 * count)))
        attempt_retry(round, attempt, "no answer");
    else if (attempt->state == ATTEMPT_HANDSHAKE && count > 1 &&
             age > fmin(HANDSHAKE_SECONDS, timeout / 4))
        attempt_retry(round, attempt, silent);
}

static bool round_is_complete(struct round *round)
{
    while (round->connected < round->pairs &&
           tcp_socket_find(round->endpoint, round->peers[round->connected / round->lanes],
                           (int)(round->connected % round->lanes)))
        round->connected++;
    return round->connected == round->pairs;
}

/* How many incoming connections are missing. */
static size_t round_missing(const struct round *round)
{
    size_t missing = 0;
    for (size_t i = round->connected; i < round->pairs; i++) {
        int peer = round->peers[i / round->lanes];
        missing += peer > round->endpoint->base.config.rank &&
                   !tcp_socket_find(round->endpoint, peer, (int)(i % round->lanes));
    }
    return missing;
}

/* Incoming connections without their confirmation. Their other end may use them already, so they
 * must not be dropped. */
static size_t round_unconfirmed(const struct round *round)
{
    size_t unconfirmed = 0;
    for (size_t i = 0; i < round->count; i++)
        unconfirmed += round->attempts[i].state == ATTEMPT_INCOMING;
    return unconfirmed;
}

/* Waits a moment for an event on an attempt or at the acceptor. */
static enum status round_poll(struct round *round)
{
    for (size_t i = 0; i < round->count; i++) {
        const struct attempt *attempt = &round->attempts[i];
        short events = attempt->state == ATTEMPT_INCOMING ? POLLIN : POLLOUT;
        if (attempt->state == ATTEMPT_HANDSHAKE)
            events = handshake_events(attempt->handshake);
        round->polled[i] = (struct pollfd){.fd = attempt->fd, .events = events};
    }
    struct acceptor *acceptor = &round->endpoint->acceptor;
    bool open = round->count < round->most && round_missing(round) > 0;
    acceptor->most = open ? (int)(round->most - round->count) : 0;
    int pending = acceptor_watch(acceptor, round->polled + round->count, clock_seconds());
    if (poll(round->polled, round->count + (size_t)pending, POLL_MILLISECONDS) < 0 &&
        errno != EINTR)
        return fail(STATUS_ERROR, "poll failed: %s", strerror(errno));
    return STATUS_OK;
}

/* Serves the acceptor. A lack of descriptors is an error only while a rank is missing. */
static enum status round_accept(struct round *round, const struct pollfd *polled)
{
    struct acceptor *acceptor = &round->endpoint->acceptor;
    acceptor->exhausted = false;
    acceptor_serve(acceptor, polled, clock_seconds());
    errno = EMFILE;
    return acceptor->exhausted && round_missing(round) > round_unconfirmed(round)
               ? out_of_descriptors()
               : STATUS_OK;
}

/* One turn of the loop: all attempts, then the acceptor. */
static enum status round_turn(struct round *round)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < round->count; i++) {
        struct attempt *attempt = &round->attempts[i];
        if (attempt->state == ATTEMPT_WAITS && clock_seconds() >= attempt->since)
            status = attempt_begin(round, attempt);
    }
    round_sweep(round);
    if (status == STATUS_OK)
        status = round_poll(round);
    size_t polled = round->count;
    for (size_t i = 0; status == STATUS_OK && i < polled; i++) {
        if (round->polled[i].fd >= 0 && round->polled[i].revents)
            status = attempt_step(round, &round->attempts[i]);
        attempt_age(round, &round->attempts[i]);
    }
    if (status == STATUS_OK)
        status = round_accept(round, round->polled + polled);
    round_sweep(round);
    return status;
}

/* The first peer that is not connected. */
static int round_awaited(const struct round *round)
{
    return round->peers[round->connected / round->lanes];
}

/* No rank progresses any more: fails, naming the missing peer and what is known about it. */
static enum status round_late(const struct round *round)
{
    const struct transport_config *config = &round->endpoint->base.config;
    int peer = round_awaited(round);
    int lane = (int)(round->connected % round->lanes);
    if (peer > config->rank)
        return fail_peer(
            REASON_PEER_LATE, peer,
            "rank %d has not connected to rank %d (tcp, lane %d) within %g s, and %llu "
            "other connections were rejected; see what that rank says, or whether a firewall "
            "stands between the hosts",
            peer, config->rank, lane, config->timeout,
            (unsigned long long)round->endpoint->base.rejected);
    char tried[600] = "";
    for (size_t i = 0; i < round->count; i++) {
        struct address routes[ADDRESSES_MOST];
        struct attempt *attempt = &round->attempts[i];
        if (attempt->peer != peer || attempt->lane != lane)
            continue;
        if (attempt->state == ATTEMPT_HANDSHAKE)
            attempt->outcomes[attempt->route] = silent;
        else if (attempt->state == ATTEMPT_CONNECTS)
            attempt->outcomes[attempt->route] = "no answer";
        int count = attempt_routes(round, attempt, routes);
        routes_text(routes, attempt->outcomes, count, tried, sizeof(tried));
    }
    return fail_peer(
        REASON_PEER_LATE, peer,
        "rank %d could not connect to rank %d (tcp) within %g s: %s; see what that rank "
        "says, whether a firewall stands between the hosts, or choose another network with "
        "--interface",
        config->rank, peer, config->timeout, tried);
}

static enum status round_run(struct round *round)
{
    const struct transport_config *config = &round->endpoint->base.config;
    while (!round_is_complete(round) || round_unconfirmed(round) > 0) {
        bool complete = round_is_complete(round);
        int peer = complete ? -1 : round_awaited(round);
        enum tick_answer answer = tick_wait(config->tick, peer);
        if (answer == TICK_ENDED)
            return fail(STATUS_ERROR, "stopped connecting, because the job has ended");
        if (answer == TICK_LATE)
            return complete ? STATUS_OK : round_late(round);
        TRY(round_turn(round));
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
        .seconds = PENDING_SECONDS,
        .spare = -1,
        .admit = round_admit,
        .rejected = &endpoint->base.rejected,
    };
    memcpy(endpoint->acceptor.hello, &hello, sizeof(hello));
}

enum status tcp_connect(struct endpoint *base, const int *peers, int count, int lanes)
{
    struct round round = {.endpoint = (struct tcp_endpoint *)base,
                          .peers = peers,
                          .pairs = (size_t)count * (size_t)lanes,
                          .lanes = (size_t)lanes};
    struct acceptor *acceptor = &round.endpoint->acceptor;
    round.most = round.pairs + PENDING_MOST;
    size_t room = round.most + (size_t)acceptor->count;
    round.attempts = new_array(room, sizeof(*round.attempts));
    round.polled = new_array(room + ADDRESSES_MOST, sizeof(*round.polled));
    acceptor->most = (int)room;
    acceptor->argument = &round;
    acceptor_open(acceptor, clock_seconds());
    for (size_t i = 0; i < round.pairs; i++) {
        int peer = peers[i / round.lanes], lane = (int)(i % round.lanes);
        if (peer < base->config.rank && !tcp_socket_find(round.endpoint, peer, lane))
            round.attempts[round.count++] = (struct attempt){.fd = -1, .peer = peer, .lane = lane};
    }
    enum status status = round_run(&round);
    for (size_t i = 0; i < round.count; i++) {
        base->rejected += round.attempts[i].state == ATTEMPT_INCOMING;
        attempt_close(&round.attempts[i], ATTEMPT_OVER);
    }
    free(round.attempts);
    free(round.polled);
    acceptor->argument = NULL;
    return status;
}

void tcp_settle(struct endpoint *base)
{
    struct tcp_endpoint *endpoint = (struct tcp_endpoint *)base;
    while (acceptor_drop_oldest(&endpoint->acceptor,
                                "had not proved itself when all ranks were connected"))
        ;
    acceptor_close(&endpoint->acceptor);
    listeners_close(&endpoint->listeners);
}
