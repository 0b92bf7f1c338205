/*
 * stats.c - what a connection waited for, and what it does while nothing moves, by the kernel's
 * counters (TCP_INFO).
 *
 * A send is done when the kernel has taken its bytes. Only the kernel knows how long they were in
 * flight, how often it sent them again, and that the network no longer delivers them. A peer that
 * is slow or stopped still acknowledges: its kernel does.
 *
 * TCP_INFO needs the kernel's <linux/tcp.h>, which knows more fields than the C library's
 * <netinet/tcp.h>. The two headers exclude each other, hence a file of its own.
 */
#include "transports/tcp/internal.h"

#include <linux/tcp.h>
#include <sys/socket.h>

#include "base/clock.h"

/* Acknowledges at once what has arrived. The kernel would wait up to 40 ms for more, and meanwhile
 * the sender's kernel would count the bytes as in flight. */
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

void tcp_starve_begin(struct tcp_channel *channel)
{
    if (!channel->base.endpoint->watched || channel->starved_since ||
        channel->base.first->length < WAIT_STATS_LEAST)
        return;
    channel->starved_since = clock_ns();
    if (channel->base.first->issued > 0)
        tcp_acknowledge(channel);
}

void tcp_starve_end(struct tcp_channel *channel)
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

static void socket_idle(int fd, int peer, struct idle_report *idle)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return;
    bool unheard = info.tcpi_unacked > 0 ? info.tcpi_retransmits > 1 : info.tcpi_probes > 1;
    if (unheard && idle->unheard < 0)
        idle->unheard = peer;
    idle->arrived += info.tcpi_bytes_received;
}

void tcp_idle_report(const struct endpoint *base, struct idle_report *idle)
{
    const struct tcp_endpoint *endpoint = (const struct tcp_endpoint *)base;
    for (int peer = 0; peer < base->config.ranks; peer++)
        for (int lane = 0; lane < endpoint->peers[peer].lane_count; lane++) {
            const struct tcp_socket *it = endpoint->peers[peer].lanes[lane];
            if (it)
                socket_idle(it->fd, peer, idle);
        }
}
