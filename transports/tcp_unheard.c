/*
 * tcp_unheard.c - whom do we send to without being heard?
 *
 * A send is done when the kernel has taken its bytes. Where the network then loses them the sender
 * goes on, and waits for somebody else at last; only its kernel knows that it has sent them again
 * and again, or that it finds no way to send them at all, and tries that again and again. A peer
 * that is merely slow, or stopped, acknowledges: its kernel does, also where it has no room for
 * more.
 */
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "tcp.h"

static bool socket_unheard(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return false;
    return info.tcpi_unacked > 0 ? info.tcpi_retransmits > 1 : info.tcpi_probes > 1;
}

int tcp_unheard(const struct endpoint *base)
{
    const struct tcp_endpoint *endpoint = (const struct tcp_endpoint *)base;
    for (int peer = 0; peer < base->config.ranks; peer++)
        for (int lane = 0; lane < endpoint->peers[peer].lane_count; lane++) {
            const struct tcp_socket *it = endpoint->peers[peer].lanes[lane];
            if (it && socket_unheard(it->fd))
                return peer;
        }
    return -1;
}
