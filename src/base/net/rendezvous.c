/*
 * rendezvous.c - how rank 0 listens at HOST:PORT, and how the other ranks find it there.
 */
#include "base/net/net.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/timed_call.h"

#define LOOKUP_PAUSE 0.3 /* seconds between two attempts */
#define WARN_SECONDS 2.0 /* that rank 0 waits for a name server before it listens unwarned */
#define PLACES_SHOWN 3   /* addresses of rank 0 in a warning */

static enum status listen_failure(const char *host, int port, int spare)
{
    switch (errno) {
    case EADDRINUSE:
        if (spare > 0)
            return fail_option(
                STATUS_ERROR, "rendezvous",
                "cannot listen: ports %d to %d are all taken on this host; choose another with "
                "--rendezvous %s:PORT",
                port, port + spare, host);
        return fail_option(
            STATUS_ERROR, "rendezvous",
            "cannot listen: port %d is taken on this host; is another rank 0 running? If not, "
            "choose another port with --rendezvous %s:PORT",
            port, host);
    case EACCES:
        return fail_option(
            STATUS_ERROR, "rendezvous",
            "cannot listen on port %d without privileges: choose one above 1023 with "
            "--rendezvous %s:PORT",
            port, host);
    case EADDRNOTAVAIL:
        return fail_option(
            STATUS_ERROR, "rendezvous",
            "cannot listen on %s, which is not an address of this host: start rank 0 on that "
            "host, or give --rendezvous an address of this host",
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

static enum status interface_mismatch(const char *interface, const char *host)
{
    return fail_option(
        STATUS_USAGE, "rendezvous interface",
        "--rendezvous sends all ranks to %s, but rank 0 listens on --interface %s, which does "
        "not have that address: name the same network in both",
        host, interface);
}

/* The addresses of `interface`, on which rank 0 listens and the others connect to `host`. */
static enum status interface_find(const char *interface, const char *host,
                                  struct address_list *here)
{
    struct address named;
    TRY(addresses_find(interface, here));
    bool found = !address_parse(host, 0, &named) || address_is_loopback(&named);
    for (int i = 0; i < here->count; i++)
        found = found || address_same(&here->list[i], &named);
    return found ? STATUS_OK : interface_mismatch(interface, host);
}

enum status rendezvous_check_interface(const char *interface, const char *host)
{
    struct address named;
    struct address_list here;
    if (!interface || !address_parse(host, 0, &named) || !address_is_loopback(&named))
        return STATUS_OK;
    TRY(addresses_find(interface, &here));
    for (int i = 0; i < here.count; i++)
        if (address_is_loopback(&here.list[i]))
            return STATUS_OK;
    return interface_mismatch(interface, host);
}

/* At one port; false with errno. `here`: of an interface, or NULL. */
static bool listen_on(const struct address_list *here, const char *host, int port,
                      struct listeners *listeners)
{
    struct address address;
    if (here) {
        struct address_list there = *here;
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
    struct address_list here;
    TRY(interface ? interface_find(interface, host, &here) : STATUS_OK);
    for (int i = 0; i <= spare; i++) {
        if (listen_on(interface ? &here : NULL, host, port + i, listeners))
            return STATUS_OK;
        if (errno != EADDRINUSE)
            break;
    }
    return listen_failure(host, port, spare);
}

/* Puts the addresses of `interface` in the place of the loopback addresses. */
static enum status routes_leave_loopback(const char *interface, int port,
                                         struct address routes[ADDRESSES_MOST], int *count)
{
    struct address_list here;
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        if (!address_is_loopback(&routes[i]))
            routes[kept++] = routes[i];
    }
    if (kept == *count)
        return STATUS_OK;
    enum status status = addresses_find(interface, &here);
    for (int i = 0; status == STATUS_OK && i < here.count && kept < ADDRESSES_MOST; i++) {
        routes[kept] = here.list[i];
        routes[kept++].port = htons((uint16_t)port);
    }
    *count = kept;
    return status;
}

/* A look-up of a name. */
struct lookup {
    char host[256], service[16];
    double until; /* clock_seconds() up to which a name that is unknown may appear */
    struct addrinfo *addresses;
    int result, error; /* of getaddrinfo(), and its errno */
};

static bool lookup_goes_on(const struct lookup *lookup, int attempts)
{
    bool missed = lookup->result == EAI_AGAIN || lookup->result == EAI_NONAME;
    return (attempts < 3 && lookup->result == EAI_AGAIN) ||
           (missed && clock_seconds() < lookup->until);
}

static void lookup_work(void *argument)
{
    struct lookup *lookup = argument;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    /* Thousands of ranks that start at once may overload a name server for a moment. */
    lookup->result = EAI_AGAIN;
    for (int attempt = 0; lookup_goes_on(lookup, attempt); attempt++) {
        if (attempt > 0)
            nanosleep(&(struct timespec){.tv_nsec = (long)(LOOKUP_PAUSE * 1e9)}, NULL);
        lookup->result = getaddrinfo(lookup->host, lookup->service, &hints, &lookup->addresses);
        lookup->error = errno;
    }
}

static const char *lookup_error(const struct lookup *lookup)
{
    return lookup->result == EAI_SYSTEM ? strerror(lookup->error) : gai_strerror(lookup->result);
}

/* Returns the result of timed_call_run(). The caller frees *lookup, which is NULL if the call was
 * abandoned: its thread still uses it. */
static int lookup_run(const char *host, int port, double seconds, bool late, struct lookup **lookup)
{
    *lookup = calloc(1, sizeof **lookup);
    if (!*lookup)
        return ENOMEM;
    snprintf((*lookup)->host, sizeof(*lookup)->host, "%s", host);
    snprintf((*lookup)->service, sizeof(*lookup)->service, "%d", port);
    if (late)
        (*lookup)->until = clock_seconds() + seconds - LOOKUP_PAUSE;
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
        return fail(
            STATUS_TIMEOUT,
            "no name server resolved the rendezvous host '%s' within %.3g s: check the name "
            "servers (/etc/resolv.conf), or give the host's address",
            host, seconds);
    return fail(STATUS_ERROR, "could not look up the rendezvous host '%s': %s", host,
                strerror(end));
}

static enum status lookup_routes(const char *host, int port, double seconds, bool late,
                                 struct address routes[ADDRESSES_MOST], int *count)
{
    struct lookup *lookup;
    enum status status = STATUS_OK;
    int end = lookup_run(host, port, seconds, late, &lookup);
    if (end != 0)
        status = lookup_unfinished(host, end, seconds);
    else if (lookup->result != 0)
        status = fail(STATUS_ERROR,
                      "the rendezvous host '%s' is unknown on this host (%s): check the name, or "
                      "give the host's address",
                      host, lookup_error(lookup));
    else
        *count = lookup_addresses(lookup, routes);
    lookup_free(lookup);
    return status;
}

/* Is one of the addresses this host's? Many hosts have their own name at loopback. */
static bool leads_here(const struct address *addresses, int count, const struct address_list *here)
{
    bool leads = false;
    for (int i = 0; i < count; i++) {
        leads = leads || address_is_loopback(&addresses[i]);
        for (int j = 0; j < here->count; j++)
            leads = leads || address_same(&addresses[i], &here->list[j]);
    }
    return leads;
}

/* "10.0.0.7 port 29500, fd00::7 port 29500": the addresses at which `listener` is reached. */
static void places_text(const struct address_list *here, int listener, char *buffer, size_t size)
{
    struct sockaddr_storage bound = {0};
    struct address address = {0};
    struct text text = text_in(buffer, size);
    int shown = 0;
    getsockname(listener, (struct sockaddr *)&bound, &(socklen_t){sizeof bound});
    address_of((struct sockaddr *)&bound, &address);
    for (int i = 0; i < here->count && shown < PLACES_SHOWN; i++) {
        char place[ADDRESS_TEXT];
        struct address at = here->list[i];
        at.port = address.port;
        if (!address_is_loopback(&at))
            text_add(&text, "%s%s", shown++ ? ", " : "", address_text(&at, place));
    }
    if (shown == 0)
        text_add(&text, "loopback only");
}

enum status rendezvous_warn(const char *interface, const char *host, int port, int listener)
{
    struct address named[ADDRESSES_MOST];
    struct address_list here;
    struct lookup *lookup;
    if (address_parse(host, port, &named[0]) || addresses_find(interface, &here) != STATUS_OK)
        return STATUS_OK;
    char places[PLACES_SHOWN * (ADDRESS_TEXT + 2)], first[ADDRESS_TEXT];
    places_text(&here, listener, places, sizeof places);
    int end = lookup_run(host, port, WARN_SECONDS, false, &lookup);
    int count = end == 0 ? lookup_addresses(lookup, named) : 0;
    if (end == 0 && lookup->result != 0)
        say("the rendezvous host '%s' is unknown on this host (%s): check that the other ranks' "
            "hosts know it; this rank listens at %s",
            host, lookup_error(lookup), places);
    else if (count > 0 && !leads_here(named, count, &here))
        say("on this host, the rendezvous host '%s' leads to %s, which is not an address of %s: "
            "check that the other ranks reach this one by it; this rank listens at %s",
            host, address_text(&named[0], first), interface ? interface : "this host", places);
    lookup_free(lookup);
    return end < 0 ? lookup_unfinished(host, end, WARN_SECONDS) : STATUS_OK;
}

enum status rendezvous_resolve(const char *interface, const char *host, int port, double seconds,
                               bool late, struct address routes[ADDRESSES_MOST], int *count)
{
    /* A number needs no name server; "localhost" may mean two. */
    *count = strcmp(host, "localhost") != 0 && address_parse(host, port, &routes[0]);
    enum status status =
        *count > 0 ? STATUS_OK : lookup_routes(host, port, seconds, late, routes, count);
    if (status == STATUS_OK && interface)
        status = routes_leave_loopback(interface, port, routes, count);
    return status;
}
