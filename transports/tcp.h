/*
 * tcp.h - what the files of the tcp transport share.
 *
 *   tcp.c          the endpoint, and the movement of data
 *   tcp_connect.c  how two ranks get their sockets
 *   tcp_address.c  where a rank listens, and how others get there
 *
 * One socket, full duplex, serves one lane between two ranks: so each lane has TCP's flow control
 * of its own. The lower rank listens, the higher one connects.
 */
#ifndef CCTEST_TCP_H
#define CCTEST_TCP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "transport.h"

#define TCP_ADDRESSES_MOST 16
#define TCP_LANES_MOST     4096

struct tcp_address {
    sa_family_t family;      /* AF_INET or AF_INET6 */
    unsigned char prefix;    /* bits that all hosts of its network have in common */
    in_port_t port;          /* in network order */
    unsigned char bytes[16]; /* the first 4 of them for AF_INET */
};

/* Where a rank listens. */
struct tcp_home {
    uint64_t host; /* a hash that ranks have in common if they share one loopback device */
    int count;
    struct tcp_address list[TCP_ADDRESSES_MOST];
};

struct tcp_listeners {
    int fd[TCP_ADDRESSES_MOST];
    int count;
};

/* Listens on config->interface (a device, or an address of one); without one on all, or on loopback
 * alone if all ranks are on this host. Finds out under which addresses that is. On errors nothing
 * is left open. */
enum status tcp_listen(const struct transport_config *config, struct tcp_listeners *listeners,
                       struct tcp_home *home);
void tcp_unlisten(struct tcp_listeners *listeners);

/* To and from the blob that the ranks exchange; tcp_home_read returns false on nonsense. */
size_t tcp_home_write(const struct tcp_home *home, void *blob);
bool tcp_home_read(const void *blob, size_t size, struct tcp_home *home);

/* The addresses of `there` that are worth a try from `here`, the most promising first; returns how
 * many. */
int tcp_routes(const struct tcp_home *here, const struct tcp_home *there,
               struct tcp_address routes[TCP_ADDRESSES_MOST]);

/* For connect() and bind(); returns the size. */
socklen_t tcp_sockaddr(const struct tcp_address *address, struct sockaddr_storage *socket_address);

#define TCP_ADDRESS_TEXT (INET6_ADDRSTRLEN + 8)
const char *tcp_address_text(const struct tcp_address *address, char text[TCP_ADDRESS_TEXT]);

/* Have both ends of a connection the same address, so that what is sent never leaves the host? */
bool tcp_stays_here(int fd);

struct tcp_socket;

struct tcp_channel {
    struct channel base;
    struct tcp_socket *socket;
    bool active; /* listed in endpoint->active */
    bool ready;  /* the kernel said that a try is worth it, and no try has failed since */
    char *slot;
    size_t slot_begin, slot_end; /* bytes in the slot: packed and not yet sent, or an incomplete
                                    element that waits for the rest of it */
};

struct tcp_socket {
    int fd;
    struct tcp_channel out, in;
};

struct tcp_peer {
    struct tcp_home *home;
    struct tcp_socket **lanes; /* NULL where there is none yet */
    int lane_count;
};

struct tcp_endpoint {
    struct endpoint base;
    struct tcp_listeners listeners;
    struct tcp_home home;
    struct tcp_peer *peers; /* config.ranks of them */
    size_t slot_bytes;
    int epoll;
    int sockets;
    struct tcp_channel **active; /* those with transfers posted; room for all channels */
    int active_count;
    uint64_t strangers; /* connections that were dropped */
    char reason[160];
};

/* Makes a connected socket the one for (peer, lane), which has none yet. The descriptor is the
 * endpoint's if this succeeds. */
enum status tcp_install(struct tcp_endpoint *endpoint, int peer, int lane, int fd);

/* The socket of (peer, lane); NULL if there is none. */
struct tcp_socket *tcp_socket_find(const struct tcp_endpoint *endpoint, int peer, int lane);

/* transport->connect. */
enum status tcp_connect(struct endpoint *base, const int *peers, int count, int lanes);

#endif
