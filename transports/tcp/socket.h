/*
 * socket.h - the sockets of an endpoint, one for each peer and lane.
 */
#ifndef CCTEST_TRANSPORTS_TCP_SOCKET_H
#define CCTEST_TRANSPORTS_TCP_SOCKET_H

#include "transports/tcp/tcp.h"

/* The socket of (peer, lane); NULL if there is none. */
struct tcp_socket *tcp_socket_find(const struct tcp_endpoint *endpoint, int peer, int lane);

/* Makes the connected socket `fd` the one of (peer, lane), which has none yet. On success the
 * endpoint owns the descriptor. */
enum status tcp_socket_install(struct tcp_endpoint *endpoint, int peer, int lane, int fd);

/* Closes the socket and frees its channels. NULL is allowed. */
void tcp_socket_free(struct tcp_socket *socket);

#endif
