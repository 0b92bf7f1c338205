/*
 * tcp.h - what the files of the tcp transport share.
 *
 *   tcp.c          the endpoint, and the movement of data
 *   connect.c  how two ranks get their sockets
 *   stats.c   what a connection had to wait for
 *   idle.c    what the network is at while nothing moves
 *
 * One socket, full duplex, serves one lane between two ranks: so each lane has TCP's flow control
 * of its own. The lower rank listens, the higher one connects. Both prove who they are, and the
 * proofs hold for these two ranks and this lane only; what follows is not sealed, as that would be
 * most of what is measured.
 */
#ifndef CCTEST_TRANSPORTS_TCP_TCP_H
#define CCTEST_TRANSPORTS_TCP_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "net/acceptor.h"
#include "transport/transport.h"

#define TCP_LANES_MOST 4096

struct tcp_socket;

struct tcp_channel {
    struct channel base;
    struct tcp_socket *socket;
    bool active; /* listed in endpoint->active */
    bool ready;  /* the kernel said that a try is worth it, and no try has failed since */
    char *slot;
    uint64_t starved_since;      /* ns; 0: it does not starve */
    uint64_t starved;            /* ns, as in struct wait_stats */
    size_t slot_begin, slot_end; /* bytes in the slot: packed and not yet sent, or an incomplete
                                    element that waits for the rest of it */
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
    struct acceptor acceptor; /* its guests stay from one tcp_connect() to the next */
    struct tcp_peer *peers;   /* config.ranks of them */
    size_t slot_bytes;
    int epoll;
    int sockets;
    struct tcp_channel **active; /* those with transfers posted; room for all channels */
    int active_count;
    char reason[160];
};

/* Makes a connected socket the one for (peer, lane), which has none yet. The descriptor is the
 * endpoint's if this succeeds. */
enum status tcp_install(struct tcp_endpoint *endpoint, int peer, int lane, int fd);

/* The socket of (peer, lane); NULL if there is none. */
struct tcp_socket *tcp_socket_find(const struct tcp_endpoint *endpoint, int peer, int lane);

/* Reads what the other end of a connection says that it is: true if that is `expected`, or, where
 * nobody in particular is (-1), a rank above this one that wants to be connected with it, on a lane
 * that there may be. *peer and *lane mean something then (the lane does not if it was we who
 * connected). */
bool tcp_hello_read(const void *said, size_t size, const struct transport_config *config,
                    int expected, int *peer, int *lane);

/* Bytes are awaited on a channel that receives, and none are there; and: they begin to come. */
void tcp_starve(struct tcp_channel *channel);
void tcp_fed(struct tcp_channel *channel);

/* Its first transfer is complete. */
void tcp_done(struct tcp_channel *channel);

/* transport->strain. */
void tcp_wait_stats(const struct channel *base, struct wait_stats *wait_stats);

/* transport->still. */
void tcp_idle_report(const struct endpoint *base, struct idle_report *idle);

/* The endpoint's door, with nobody at it; before all else. */
void tcp_prepare(struct tcp_endpoint *endpoint);

/* transport->connect. */
enum status tcp_connect(struct endpoint *base, const int *peers, int count, int lanes);

/* transport->settle. */
void tcp_settle(struct endpoint *base);

#endif
