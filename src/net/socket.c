/*
 * socket.c - non-blocking TCP sockets: how rank 0 listens and is found, each way to fail with a
 * sentence, and how any two ranks connect.
 */
#include "net/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timed_call.h"

#define DOUBT_SECONDS 2.0 /* for a name server to tell rank 0 whether its name leads to it */
#define PLACES_TOLD   3   /* addresses at which rank 0 listens */

void socket_set_prompt(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static enum status listen_failure(const char *host, int port, int spare)
{
    switch (errno) {
    case EADDRINUSE:
        if (spare > 0)
            return fail(
                STATUS_ERROR,
                "cannot listen: ports %d to %d are all taken on this host; choose another with "
                "--rendezvous %s:PORT",
                port, port + spare, host);
        return fail(
            STATUS_ERROR,
            "cannot listen: port %d is taken on this host; is another rank 0 running? If not, "
            "choose another port with --rendezvous %s:PORT",
            port, host);
    case EACCES:
        return fail(STATUS_ERROR,
                    "may not listen on port %d: choose one above 1023 with "
                    "--rendezvous %s:PORT",
                    port, host);
    case EADDRNOTAVAIL:
        return fail(STATUS_ERROR,
                    "cannot listen on %s: that is no address of this host; "
                    "start rank 0 there, or name this host in --rendezvous",
                    host);
    default:
        return fail(STATUS_ERROR, "cannot listen on %s port %d: %s", host, port, strerror(errno));
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

static enum status interface_missed(const char *interface, const char *host)
{
    return fail(STATUS_USAGE,
                "--rendezvous sends all ranks to %s, which is no address of --interface %s, "
                "where rank 0 is to listen: let both name the same network",
                host, interface);
}

/* The addresses of `interface`, where rank 0 is to listen if the others go to `host`. */
static enum status interface_find(const char *interface, const char *host,
                                  struct address_list *home)
{
    struct address named;
    enum status status = addresses_find(interface, home);
    if (status != STATUS_OK)
        return status;
    bool found = !address_parse(host, 0, &named) || address_is_loopback(&named);
    for (int i = 0; i < home->count; i++)
        found = found || address_same(&home->list[i], &named);
    return found ? STATUS_OK : interface_missed(interface, host);
}

enum status rendezvous_check_interface(const char *interface, const char *host)
{
    struct address named;
    struct address_list home;
    if (!interface || !address_parse(host, 0, &named) || !address_is_loopback(&named))
        return STATUS_OK;
    enum status status = addresses_find(interface, &home);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < home.count; i++)
        if (address_is_loopback(&home.list[i]))
            return STATUS_OK;
    return interface_missed(interface, host);
}

/* At one port; false with errno. `home`: of an interface, or NULL. */
static bool listen_on(const struct address_list *home, const char *host, int port,
                      struct listeners *listeners)
{
    struct address address;
    if (home) {
        struct address_list there = *home;
        for (int i = 0; i < there.count; i++)
            there.list[i].port = htons((uint16_t)port);
        return listeners_open(&there, listeners);
    }
    int fd;
    if (address_parse(host, port, &address)) {
        fd = listen_at(&address, true);
    } else {
        address = (struct address){.port = htons((uint16_t)port)};
        fd = listen_anywhere(&address);
    }
    *listeners = (struct listeners){.fd = {fd}, .count = fd >= 0};
    return fd >= 0;
}

enum status rendezvous_listen(const char *interface, const char *host, int port, int spare,
                              struct listeners *listeners)
{
    struct address_list home;
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
                                         struct address routes[ADDRESSES_MOST], int *count)
{
    struct address_list home;
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        if (!address_is_loopback(&routes[i]))
            routes[kept++] = routes[i];
    }
    if (kept == *count)
        return STATUS_OK;
    enum status status = addresses_find(interface, &home);
    for (int i = 0; status == STATUS_OK && i < home.count && kept < ADDRESSES_MOST; i++) {
        routes[kept] = home.list[i];
        routes[kept++].port = htons((uint16_t)port);
    }
    *count = kept;
    return status;
}

/* A name that is looked up. */
struct lookup {
    char host[256], service[16];
    struct addrinfo *addresses;
    int result, error; /* of getaddrinfo(), and its errno */
};

static void lookup_work(void *argument)
{
    struct lookup *lookup = argument;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    /* Thousands of ranks that start at once may overwork a name server for a moment. */
    lookup->result = EAI_AGAIN;
    for (int attempt = 0; attempt < 3 && lookup->result == EAI_AGAIN; attempt++) {
        if (attempt > 0)
            nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        lookup->result = getaddrinfo(lookup->host, lookup->service, &hints, &lookup->addresses);
        lookup->error = errno;
    }
}

static const char *lookup_error(const struct lookup *lookup)
{
    return lookup->result == EAI_SYSTEM ? strerror(lookup->error) : gai_strerror(lookup->result);
}

/* Returns what timed_call_run() did. *lookup: to be freed by the caller; NULL where it is left, as its
 * thread still uses it. */
static int lookup_run(const char *host, int port, double seconds, struct lookup **lookup)
{
    *lookup = calloc(1, sizeof **lookup);
    if (!*lookup)
        return ENOMEM;
    snprintf((*lookup)->host, sizeof(*lookup)->host, "%s", host);
    snprintf((*lookup)->service, sizeof(*lookup)->service, "%d", port);
    int end = timed_call_run(lookup_work, *lookup, seconds);
    if (timed_call_is_abandoned(end))
        *lookup = NULL;
    return end;
}

static void lookup_free(struct lookup *lookup)
{
    if (lookup && lookup->addresses)
        freeaddrinfo(lookup->addresses);
    free(lookup);
}

static int lookup_addresses(const struct lookup *lookup, struct address list[ADDRESSES_MOST])
{
    int count = 0;
    for (struct addrinfo *a = lookup->addresses; a && count < ADDRESSES_MOST; a = a->ai_next)
        count += address_of(a->ai_addr, &list[count]);
    return count;
}

/* `end`: what timed_call_run() returned. */
static enum status lookup_unfinished(const char *host, int end, double seconds)
{
    if (end < 0)
        return fail(STATUS_INTERRUPTED,
                    "interrupted by SIG%s while it looked up the rendezvous host '%s'",
                    sigabbrev_np(-end), host);
    if (end == ETIMEDOUT)
        return fail(STATUS_TIMEOUT,
                    "no name server has told the address of the rendezvous host '%s' for %.3g s: "
                    "check that they answer (/etc/resolv.conf), or give its address",
                    host, seconds);
    return fail(STATUS_ERROR, "could not look up the rendezvous host '%s': %s", host,
                strerror(end));
}

static enum status lookup_routes(const char *host, int port, double seconds,
                                 struct address routes[ADDRESSES_MOST], int *count)
{
    struct lookup *lookup;
    enum status status = STATUS_OK;
    int end = lookup_run(host, port, seconds, &lookup);
    if (end != 0)
        status = lookup_unfinished(host, end, seconds);
    else if (lookup->result != 0)
        status = fail(STATUS_ERROR,
                      "the rendezvous host '%s' is unknown here (%s): check the name, or "
                      "give its address",
                      host, lookup_error(lookup));
    else
        *count = lookup_addresses(lookup, routes);
    lookup_free(lookup);
    return status;
}

/* Is one of the addresses of `host` this host's, or at loopback, where many a host has its own
 * name? */
static bool leads_home(const struct address *addresses, int count, const struct address_list *home)
{
    bool leads = false;
    for (int i = 0; i < count; i++) {
        leads = leads || address_is_loopback(&addresses[i]);
        for (int j = 0; j < home->count; j++)
            leads = leads || address_same(&addresses[i], &home->list[j]);
    }
    return leads;
}

/* "10.0.0.7 port 29500, fd00::7 port 29500": where others may find who listens there. */
static void places_text(const struct address_list *home, int listener, char *text, size_t size)
{
    struct sockaddr_storage bound = {0};
    struct address address = {0};
    int told = 0;
    getsockname(listener, (struct sockaddr *)&bound, &(socklen_t){sizeof bound});
    address_of((struct sockaddr *)&bound, &address);
    snprintf(text, size, "loopback only");
    for (int i = 0; i < home->count && told < PLACES_TOLD; i++) {
        char place[ADDRESS_TEXT];
        struct address here = home->list[i];
        here.port = address.port;
        size_t end = told > 0 ? strlen(text) : 0;
        if (!address_is_loopback(&here) && ++told)
            snprintf(text + end, size - end, "%s%s", end ? ", " : "", address_text(&here, place));
    }
}

enum status rendezvous_warn(const char *interface, const char *host, int port, int listener)
{
    struct address named[ADDRESSES_MOST];
    struct address_list home;
    struct lookup *lookup;
    if (address_parse(host, port, &named[0]) || addresses_find(interface, &home) != STATUS_OK)
        return STATUS_OK;
    char places[PLACES_TOLD * (ADDRESS_TEXT + 2)], first[ADDRESS_TEXT];
    places_text(&home, listener, places, sizeof places);
    int end = lookup_run(host, port, DOUBT_SECONDS, &lookup);
    int count = end == 0 ? lookup_addresses(lookup, named) : 0;
    if (end == 0 && lookup->result != 0)
        say("the rendezvous host '%s' is unknown here (%s): can the others find it? This rank "
            "listens at %s",
            host, lookup_error(lookup), places);
    else if (count > 0 && !leads_home(named, count, &home))
        say("the rendezvous host '%s' leads to %s here, which is no address of %s: can the others "
            "find it? This rank listens at %s",
            host, address_text(&named[0], first), interface ? interface : "this host", places);
    lookup_free(lookup);
    return end < 0 ? lookup_unfinished(host, end, DOUBT_SECONDS) : STATUS_OK;
}

enum status rendezvous_resolve(const char *interface, const char *host, int port, double seconds,
                               struct address routes[ADDRESSES_MOST], int *count)
{
    /* A number needs no name server; "localhost" may mean two. */
    *count = strcmp(host, "localhost") != 0 && address_parse(host, port, &routes[0]);
    enum status status = *count > 0 ? STATUS_OK : lookup_routes(host, port, seconds, routes, count);
    if (status == STATUS_OK && interface)
        status = routes_leave_loopback(interface, port, routes, count);
    return status;
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

/* The addresses of the two ends of a connection; false: it is none. */
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
    /* Where nobody listens, the kernel may connect a socket to itself: it is its own peer then. */
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
