/*
 * socket.c - connecting with non-blocking TCP sockets.
 */
#include "base/net/net.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

void socket_set_prompt(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

int socket_connect(const struct address *address)
{
    struct sockaddr_storage place;
    socklen_t size = address_socket(address, &place);
    int fd = socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    socket_set_prompt(fd);
    if (connect(fd, (struct sockaddr *)&place, size) == 0 || errno == EINPROGRESS)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* The addresses of the two ends of a connection; false: `fd` is not connected. */
static bool socket_ends(int fd, struct address *here, struct address *there)
{
    struct sockaddr_storage near = {0}, far = {0};
    socklen_t near_size = sizeof near, far_size = sizeof far;
    return getsockname(fd, (struct sockaddr *)&near, &near_size) == 0 &&
           getpeername(fd, (struct sockaddr *)&far, &far_size) == 0 &&
           address_of((struct sockaddr *)&near, here) && address_of((struct sockaddr *)&far, there);
}

int socket_connect_result(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        return errno;
    /* At a port without a listener, the kernel may connect a socket to itself. */
    struct address here, there;
    if (error == 0 && socket_ends(fd, &here, &there) && address_same(&here, &there) &&
        here.port == there.port)
        return ECONNREFUSED;
    return error;
}

bool socket_stays_here(int fd)
{
    struct address here, there;
    return socket_ends(fd, &here, &there) && address_same(&here, &there);
}
