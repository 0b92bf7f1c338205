/*
 * idle.c - what the network is at while this rank moves nothing.
 *
 * A send is done when the kernel has taken its bytes. Where the network then loses them the sender
 * goes on, and waits for somebody else at last; only its kernel knows that it has sent them again
 * and again, or that it finds no way to send them at all, and tries that again and again. A peer
 * that is merely slow, or stopped, acknowledges: its kernel does, also where it has no room for
 * more.
 *
 * And where a slow network is busy with what this rank will ask for later, what it waits for now
 * has to wait, too.
 */
#include <linux/tcp.h>
#include <sys/socket.h>

#include "transports/tcp/tcp.h"

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
