/*
 * channel.h - the data path of tcp.
 */
#ifndef CCTEST_TRANSPORTS_TCP_CHANNEL_H
#define CCTEST_TRANSPORTS_TCP_CHANNEL_H

#include "transports/tcp/tcp.h"

/* Moves what its transfers can move now, up to one turn; it has at least one posted. */
enum status tcp_channel_progress(struct tcp_channel *channel);

/* STATUS_TIMEOUT, naming the peer, if the peer has closed the connection and the first transfer
 * needs more than what the peer sent before. */
enum status tcp_channel_check(const struct tcp_channel *channel);

/* As the hook of struct transport. */
enum path tcp_path_of(const struct path_query *query);

#endif
