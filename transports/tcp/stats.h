/*
 * stats.h - what a connection waited for, and what it does while nothing moves.
 */
#ifndef CCTEST_TRANSPORTS_TCP_STATS_H
#define CCTEST_TRANSPORTS_TCP_STATS_H

#include "transports/tcp/tcp.h"

/* A receiving channel waits for bytes from here on; some have arrived. */
void tcp_starve_begin(struct tcp_channel *channel);
void tcp_starve_end(struct tcp_channel *channel);

/* The channel's first transfer is complete: takes it off the queue. */
void tcp_done(struct tcp_channel *channel);

/* transport->wait_stats and transport->idle_report. */
void tcp_wait_stats(const struct channel *base, struct wait_stats *wait_stats);
void tcp_idle_report(const struct endpoint *base, struct idle_report *idle);

#endif
