/*
 * tcp.h - the types that the files of the tcp transport share.
 *
 * One full-duplex socket serves one lane between two ranks, so that each lane has TCP's flow
 * control of its own. The lower rank listens, the higher one connects. Both prove their identity,
 * and a proof holds for these two ranks and this lane only. The data is not encrypted, because
 * encryption would dominate the measurement.
 */
#ifndef CCTEST_TRANSPORTS_TCP_TCP_H
#define CCTEST_TRANSPORTS_TCP_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/net/acceptor.h"
#include "dataplane/transport/transport.h"

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

#endif
