/*
 * tcp_unheard.c - whom do we send to without being heard?
 *
 * A send is done when the kernel has taken its bytes. Where the network then loses them the sender
 * goes on, and waits for somebody else at last; only its kernel knows that it has sent them again
 * and again. A peer that is merely slow, or stopped, acknowledges: its kernel does.
 */
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "tcp.h"

static bool socket_unheard(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof(info);
    return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) && info.tcpi_unacked > 0 &&
           info.tcpi_retransmits > 1;
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
