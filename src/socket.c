/*
 * socket.c - the non-blocking TCP sockets of the control plane, and a sentence for each way to
 * fail.
 */
#include "socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

#define BACKLOG 4096

void socket_set_prompt(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

/* A listening socket, or -1 with errno. */
static int listen_at(const struct sockaddr *address, socklen_t size)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (address->sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    if (bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static int listen_everywhere(int port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    int fd = listen_at((struct sockaddr *)&six, sizeof six);
    if (fd >= 0 || errno == EADDRINUSE || errno == EACCES)
        return fd;
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    return listen_at((struct sockaddr *)&four, sizeof four);
}

static enum status listen_failure(const char *host, int port, int spare)
{
    switch (errno) {
    case EADDRINUSE:
        if (spare > 0)
            return fail(STATUS_ERROR,
                        "rank 0 cannot listen: ports %d to %d are all taken on this host; choose "
                        "another with --rendezvous %s:PORT",
                        port, port + spare, host);
        return fail(STATUS_ERROR,
                    "rank 0 cannot listen: port %d is taken on this host; choose "
                    "another with --rendezvous %s:PORT",
                    port, host);
    case EACCES:
        return fail(STATUS_ERROR,
                    "rank 0 may not listen on port %d: choose one above 1023 with "
                    "--rendezvous %s:PORT",
                    port, host);
    case EADDRNOTAVAIL:
        return fail(STATUS_ERROR,
                    "rank 0 cannot listen on %s: that is no address of this host; "
                    "start rank 0 there, or name this host in --rendezvous",
                    host);
    default:
        return fail(STATUS_ERROR, "rank 0 cannot listen on %s port %d: %s", host, port,
                    strerror(errno));
    }
}

/* Reads "10.0.0.7", "fd00::7" or "localhost"; false: it is another name. */
static bool address_parse(const char *host, int port, struct address *address)
{
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    bool local = strcmp(host, "localhost") == 0;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | (local ? 0 : AI_NUMERICHOST)};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return false;
    bool read = address_of(found->ai_addr, address);
    freeaddrinfo(found);
    return read;
}

/* The addresses of `interface`, where rank 0 is to listen if the others go to `host`. */
static enum status interface_find(const char *interface, const char *host, struct home *home)
{
    struct address named;
    enum status status = home_here(interface, home);
    if (status != STATUS_OK)
        return status;
    bool found = !address_parse(host, 0, &named) || address_is_loopback(&named);
    for (int i = 0; i < home->count; i++)
        found = found || (home->list[i].family == named.family &&
                          memcmp(home->list[i].bytes, named.bytes, sizeof named.bytes) == 0);
    if (found)
        return STATUS_OK;
    return fail(STATUS_USAGE,
                "--rendezvous sends all ranks to %s, which is no address of --interface %s, "
                "where rank 0 is to listen: let both name the same network",
                host, interface);
}

/* At one port; false with errno. `home`: of an interface, or NULL. */
static bool listen_on(const struct home *home, const char *host, int port,
                      struct listeners *listeners)
{
    struct address address;
    if (home) {
        struct home there = *home;
        for (int i = 0; i < there.count; i++)
            there.list[i].port = htons((uint16_t)port);
        return listeners_open(&there, listeners);
    }
    int fd;
    if (address_parse(host, port, &address)) {
        struct sockaddr_storage place;
        socklen_t size = address_socket(&address, &place);
        fd = listen_at((struct sockaddr *)&place, size);
    } else {
        fd = listen_everywhere(port);
    }
    *listeners = (struct listeners){.fd = {fd}, .count = fd >= 0};
    return fd >= 0;
}

enum status socket_listen(const char *interface, const char *host, int port, int spare,
                          struct listeners *listeners)
{
    struct home home;
    enum status status = interface ? interface_find(interface, host, &home) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i <= spare; i++) {
        if (listen_on(interface ? &home : NULL, host, port + i, listeners))
            return STATUS_OK;
        if (errno != EADDRINUSE)
            break;
    }
    return listen_failure(host, port, spare);
}

/* Puts the addresses of `interface` in the place of those of loopback. */
static enum status routes_leave_loopback(const char *interface, int port,
                                         struct address routes[HOME_ADDRESSES_MOST], int *count)
{
    struct home home;
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        if (!address_is_loopback(&routes[i]))
            routes[kept++] = routes[i];
    }
    if (kept == *count)
        return STATUS_OK;
    enum status status = home_here(interface, &home);
    for (int i = 0; status == STATUS_OK && i < home.count && kept < HOME_ADDRESSES_MOST; i++) {
        routes[kept] = home.list[i];
        routes[kept++].port = htons((uint16_t)port);
    }
    *count = kept;
    return status;
}

enum status socket_resolve(const char *interface, const char *host, int port,
                           struct address routes[HOME_ADDRESSES_MOST], int *count)
{
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    /* Thousands of ranks that start at once may overwork a name server for a moment. */
    int result = EAI_AGAIN;
    struct addrinfo *addresses = NULL;
    for (int attempt = 0; attempt < 3 && result == EAI_AGAIN; attempt++) {
        if (attempt > 0)
            nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        result = getaddrinfo(host, service, &hints, &addresses);
    }
    *count = 0;
    for (struct addrinfo *a = addresses; result == 0 && a && *count < HOME_ADDRESSES_MOST;
         a = a->ai_next)
        *count += address_of(a->ai_addr, &routes[*count]);
    if (result == 0) {
        freeaddrinfo(addresses);
        return interface ? routes_leave_loopback(interface, port, routes, count) : STATUS_OK;
    }
    return fail(STATUS_ERROR,
                "the rendezvous host '%s' is unknown here (%s): check the name, or "
                "give its address",
                host, result == EAI_SYSTEM ? strerror(errno) : gai_strerror(result));
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

int socket_connect_result(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
        return errno;
    /* Where nobody listens, the kernel may connect a socket to itself: it is its own peer then. */
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_size = sizeof here, there_size = sizeof there;
    if (error == 0 && getsockname(fd, (struct sockaddr *)&here, &here_size) == 0 &&
        getpeername(fd, (struct sockaddr *)&there, &there_size) == 0 && here_size == there_size &&
        memcmp(&here, &there, here_size) == 0)
        return ECONNREFUSED;
    return error;
}

bool socket_stays_here(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_size = sizeof(here), there_size = sizeof(there);
    if (getsockname(fd, (struct sockaddr *)&here, &here_size) ||
        getpeername(fd, (struct sockaddr *)&there, &there_size) ||
        here.ss_family != there.ss_family)
        return false;
    if (here.ss_family == AF_INET)
        return ((struct sockaddr_in *)&here)->sin_addr.s_addr ==
               ((struct sockaddr_in *)&there)->sin_addr.s_addr;
    return here.ss_family == AF_INET6 &&
           memcmp(&((struct sockaddr_in6 *)&here)->sin6_addr,
                  &((struct sockaddr_in6 *)&there)->sin6_addr, sizeof(struct in6_addr)) == 0;
}
