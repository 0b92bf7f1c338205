/*
 * connect.h - makes the sockets between this rank and its peers.
 */
#ifndef CCTEST_TRANSPORTS_TCP_CONNECT_H
#define CCTEST_TRANSPORTS_TCP_CONNECT_H

#include "transports/tcp/tcp.h"

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

#endif
