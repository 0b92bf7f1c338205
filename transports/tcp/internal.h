/*
 * internal.h - for the files of transports/tcp/ alone.
 */
#ifndef CCTEST_TRANSPORTS_TCP_INTERNAL_H
#define CCTEST_TRANSPORTS_TCP_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/net/net.h"
#include "dataplane/transport/transport.h"

/* ---- The types that the files of the tcp transport share.
 *
 * One full-duplex socket serves one lane between two ranks, so that each lane has TCP's flow
 * control of its own. The lower rank listens, the higher one connects. Both prove their identity,
 * and a proof holds for these two ranks and this lane only. The data is not encrypted, because
 * encryption would dominate the measurement.
 * ---- */

#define TCP_LANES_MOST 4096

struct tcp_socket;

struct tcp_channel {
    struct channel base;
    struct tcp_socket *socket;
    bool active; /* listed in endpoint->active */
    bool ready;  /* by epoll; no try has failed since */
    char *slot;
    uint64_t starved_since;      /* ns; 0: not starved */
    uint64_t starved;            /* ns, as in struct wait_stats */
    size_t slot_begin, slot_end; /* bytes in the slot: packed and not sent, or of an incomplete
                                    element */
};

struct tcp_socket {
    int fd;
    struct tcp_channel out, in;
};

struct tcp_peer {
    struct address_list *home;
    struct tcp_socket **lanes; /* NULL where there is none yet */
    int lane_count;
};

struct tcp_endpoint {
    struct endpoint base;
    struct listeners listeners;
    struct address_list home;
    struct acceptor acceptor; /* pending connections stay from one tcp_connect() to the next */
    struct tcp_peer *peers;   /* config.ranks of them */
    size_t slot_bytes;
    int epoll;
    int sockets;
    struct tcp_channel **active; /* the channels with transfers posted; room for all */
    int active_count;
    char reason[160];
};

/* ---- The data path of tcp. ---- */

/* Moves what its transfers can move now, up to one turn; it has at least one posted. */
enum status tcp_channel_progress(struct tcp_channel *channel);

/* STATUS_TIMEOUT, naming the peer, if the peer has closed the connection and the first transfer
 * needs more than what the peer sent before. */
enum status tcp_channel_check(const struct tcp_channel *channel);

/* As the hook of struct transport. */
enum path tcp_path_of(const struct path_query *query);

/* ---- Makes the sockets between this rank and its peers. ---- */

/* Prepares the endpoint's acceptor; called once, before all else. */
void tcp_prepare(struct tcp_endpoint *endpoint);

/* transport->connect. */
enum status tcp_connect(struct endpoint *base, const int *peers, int count, int lanes);

/* transport->settle. */
void tcp_settle(struct endpoint *base);

/* Reads the identity that the other end of a connection sends in its handshake. True if it is rank
 * `expected`; or, if `expected` is -1, a rank above this one that wants to connect to this one on a
 * valid lane. *peer is then set, and *lane if `expected` is -1. */
bool tcp_hello_read(const void *hello_bytes, size_t size, const struct transport_config *config,
                    int expected, int *peer, int *lane);

/* ---- The sockets of an endpoint, one for each peer and lane. ---- */

/* The socket of (peer, lane); NULL if there is none. */
struct tcp_socket *tcp_socket_find(const struct tcp_endpoint *endpoint, int peer, int lane);

/* Makes the connected socket `fd` the one of (peer, lane), which has none yet. On success the
 * endpoint owns the descriptor. */
enum status tcp_socket_install(struct tcp_endpoint *endpoint, int peer, int lane, int fd);

/* ---- What a connection waited for, and what it does while nothing moves. ---- */

/* transport->wait_stats and transport->idle_report. */
void tcp_wait_stats(const struct channel *base, struct wait_stats *wait_stats);
void tcp_idle_report(const struct endpoint *base, struct idle_report *idle);

#endif
