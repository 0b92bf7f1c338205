/*
 * stats.c - what a connection had to wait for, as this side and the kernel have counted it.
 *
 * The kernel knows what a program cannot see behind the socket's buffer: for how long bytes were on
 * their way. A file of its own, since the C library's <netinet/tcp.h> knows less of it than the
 * kernel's header, and the two exclude each other.
 */
#include <linux/tcp.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "transports/tcp/tcp.h"

/* What has come of a message is acknowledged at once, and not when the kernel has waited for more
 * (up to 40 ms): until then the sender's kernel would take it to be on its way. */
static void tcp_acknowledge(const struct tcp_channel *channel)
{
    int yes = 1;
    setsockopt(channel->socket->fd, IPPROTO_TCP, TCP_QUICKACK, &yes, sizeof yes);
}

void tcp_done(struct tcp_channel *channel)
{
    bool watches = channel->base.endpoint->config.watches && !channel->base.sends;
    if (watches && channel->base.first->length >= WAIT_STATS_LEAST)
        tcp_acknowledge(channel);
    channel_pop(&channel->base);
}

void tcp_starve(struct tcp_channel *channel)
{
    if (!channel->base.endpoint->watched || channel->starved_since ||
        channel->base.first->length < WAIT_STATS_LEAST)
        return;
    channel->starved_since = clock_ns();
    if (channel->base.first->issued > 0)
        tcp_acknowledge(channel);
}

void tcp_fed(struct tcp_channel *channel)
{
    channel->starved += clock_ns() - channel->starved_since;
    channel->starved_since = 0;
}

void tcp_wait_stats(const struct channel *base, struct wait_stats *wait_stats)
{
    const struct tcp_channel *channel = (const struct tcp_channel *)base;
    *wait_stats = (struct wait_stats){.starved = channel->starved};
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (!base->sends || getsockopt(channel->socket->fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return;
    uint64_t full = info.tcpi_rwnd_limited;
    wait_stats->busy = (info.tcpi_busy_time > full ? info.tcpi_busy_time - full : 0) * 1000;
    wait_stats->resent = info.tcpi_total_retrans;
}
