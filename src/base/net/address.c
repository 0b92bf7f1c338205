/*
 * address.c - the addresses at which a rank listens, and the order in which a peer tries them.
 *
 * A host has many addresses, and not all can be reached from everywhere: loopback only from the
 * host itself, a container bridge's address from no other host. A rank publishes all its addresses,
 * and a peer tries them in the order in which they are likely to work.
 */
#include "base/net/net.h"

#include "base/host.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Connecting with non-blocking TCP sockets.
 */
void socket_set_prompt(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

int socket_connect(const struct address *address, int segment)
{
    struct sockaddr_storage place;
    socklen_t size = address_socket(address, &place);
    int fd = socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    socket_set_prompt(fd);
    if (segment > 0)
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
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

/*
 * The addresses at which a rank listens.
 */
socklen_t address_socket(const struct address *address, struct sockaddr_storage *socket_address)
{
    memset(socket_address, 0, sizeof(*socket_address));
    if (address->family == AF_INET) {
        struct sockaddr_in *ip4 = (struct sockaddr_in *)socket_address;
        ip4->sin_family = AF_INET;
        ip4->sin_port = address->port;
        memcpy(&ip4->sin_addr, address->bytes, sizeof(ip4->sin_addr));
        return sizeof(*ip4);
    }
    struct sockaddr_in6 *ip6 = (struct sockaddr_in6 *)socket_address;
    ip6->sin6_family = AF_INET6;
    ip6->sin6_port = address->port;
    ip6->sin6_scope_id = address->scope;
    memcpy(&ip6->sin6_addr, address->bytes, sizeof(ip6->sin6_addr));
    return sizeof(*ip6);
}

bool address_of(const struct sockaddr *socket_address, struct address *address)
{
    *address = (struct address){.family = socket_address->sa_family};
    if (address->family == AF_INET) {
        const struct sockaddr_in *ip4 = (const struct sockaddr_in *)socket_address;
        address->port = ip4->sin_port;
        memcpy(address->bytes, &ip4->sin_addr, sizeof(ip4->sin_addr));
    } else if (address->family == AF_INET6) {
        const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)socket_address;
        address->port = ip6->sin6_port;
        address->scope = ip6->sin6_scope_id;
        memcpy(address->bytes, &ip6->sin6_addr, sizeof(ip6->sin6_addr));
    } else {
        return false;
    }
    return true;
}

const char *address_text(const struct address *address, char text[ADDRESS_TEXT])
{
    inet_ntop(address->family, address->bytes, text, ADDRESS_TEXT);
    struct text end = text_after(text, ADDRESS_TEXT);
    text_add(&end, " port %u", ntohs(address->port));
    return text;
}

const char *routes_text(const struct address *routes, const char *const *outcomes, int count,
                        char *buffer, size_t size)
{
    struct text text = text_in(buffer, size);
    for (int i = 0; i < count; i++) {
        char address[ADDRESS_TEXT];
        text_add(&text, "%s%s: %s", i > 0 ? "; " : "", address_text(&routes[i], address),
                 outcomes[i] ? outcomes[i] : "not tried");
    }
    return buffer;
}

bool address_is_loopback(const struct address *address)
{
    static const unsigned char loopback6[16] = {[15] = 1};
    return address->family == AF_INET ? address->bytes[0] == 127
                                      : !memcmp(address->bytes, loopback6, sizeof(loopback6));
}

/* Do the first `bits` bits of two addresses agree? */
static bool address_agrees(const struct address *a, const struct address *b, int bits)
{
    if (a->family != b->family || memcmp(a->bytes, b->bytes, (size_t)bits / 8))
        return false;
    int rest = bits % 8;
    return rest == 0 || (a->bytes[bits / 8] ^ b->bytes[bits / 8]) >> (8 - rest) == 0;
}

bool address_same(const struct address *a, const struct address *b)
{
    return address_agrees(a, b, a->family == AF_INET ? 32 : 128);
}

/* One entry of getifaddrs(), without a port. Returns false for addresses that no peer can
 * connect to: of devices that are down, of other families, IPv6 addresses that need a device's
 * name. */
static bool address_of_device(const struct ifaddrs *device, struct address *address)
{
    struct address mask;
    if (!device->ifa_addr || !(device->ifa_flags & IFF_UP) ||
        !address_of(device->ifa_addr, address) || address->scope)
        return false;
    if (!device->ifa_netmask || !address_of(device->ifa_netmask, &mask))
        return true;
    for (size_t i = 0; i < sizeof(mask.bytes); i++)
        address->prefix += (unsigned char)__builtin_popcount(mask.bytes[i]);
    return true;
}

/* Does `name` name the device or the address? An IPv6 address may be in brackets. */
static bool address_is_named(const struct ifaddrs *device, const struct address *address,
                             const char *name)
{
    char text[INET6_ADDRSTRLEN], bracketed[INET6_ADDRSTRLEN + 2];
    if (!strcmp(device->ifa_name, name))
        return true;
    if (!inet_ntop(address->family, address->bytes, text, sizeof(text)))
        return false;
    snprintf(bracketed, sizeof(bracketed), "[%s]", text);
    return !strcmp(text, name) || (address->family == AF_INET6 && !strcmp(bracketed, name));
}

/* A hash of the kernel's boot id (if it is unknown, of the host's name) and of the network
 * namespace: ranks that have both in common share one loopback device. */
static uint64_t host_hash(void)
{
    struct host_id id;
    host_identify(&id);
    const char *host = id.boot[0] ? id.boot : id.name;
    uint64_t hash = hash_text(HASH_BEGIN, host);
    char namespace[64];
    ssize_t size = readlink("/proc/self/ns/net", namespace, sizeof(namespace));
    return hash_bytes(hash, namespace, size > 0 ? (size_t)size : 0);
}

/* "lo, eth0": the devices that have addresses, each once. */
static void devices_text(const struct ifaddrs *devices, char *buffer, size_t size)
{
    struct text text = text_in(buffer, size);
    for (const struct ifaddrs *device = devices; device; device = device->ifa_next) {
        struct address address;
        const struct ifaddrs *before = devices;
        while (before != device &&
               (strcmp(before->ifa_name, device->ifa_name) || !address_of_device(before, &address)))
            before = before->ifa_next;
        if (before == device && address_of_device(device, &address))
            text_add(&text, "%s%s", text.used ? ", " : "", device->ifa_name);
    }
}

static enum status interface_unknown(const char *interface, const struct ifaddrs *devices)
{
    char names[300];
    devices_text(devices, names, sizeof(names));
    return fail_option(
        STATUS_USAGE, "interface",
        "no network device or address '%s' is up on this host: give --interface one of %s, "
        "or an address of one of them as `ip address` shows it",
        interface, names);
}

/* All addresses of this host, the ones that `interface` names, or the loopback addresses. */
static enum status addresses_explore(const char *interface, bool loopback,
                                     struct address_list *list)
{
    struct ifaddrs *devices;
    *list = (struct address_list){.host = host_hash()};
    if (getifaddrs(&devices))
        return fail(STATUS_ERROR, "cannot list this host's network addresses: %s", strerror(errno));
    for (const struct ifaddrs *device = devices; device; device = device->ifa_next) {
        struct address address;
        if (list->count < ADDRESSES_MOST && address_of_device(device, &address) &&
            (!interface || address_is_named(device, &address, interface)) &&
            (!loopback || address_is_loopback(&address)))
            list->list[list->count++] = address;
    }
    enum status status = STATUS_OK;
    if (list->count == 0 && interface)
        status = interface_unknown(interface, devices);
    freeifaddrs(devices);
    if (status != STATUS_OK)
        return status;
    if (list->count == 0)
        return fail(STATUS_ERROR, "this host has no %s; try `ip link set lo up`",
                    loopback ? "loopback address" : "network address, not even a loopback one");
    return STATUS_OK;
}

int listen_at(struct address *address, bool both_families)
{
    struct sockaddr_storage place;
    socklen_t size = address_socket(address, &place);
    int fd = socket(address->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int only = !both_families;
    /* A port that was asked for is taken though connections of an earlier job still close there. */
    int reuse = address->port != 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
    if ((address->family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only))) ||
        bind(fd, (struct sockaddr *)&place, size) || listen(fd, SOMAXCONN) ||
        getsockname(fd, (struct sockaddr *)&place, &size)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    address->port = address->family == AF_INET ? ((struct sockaddr_in *)&place)->sin_port
                                               : ((struct sockaddr_in6 *)&place)->sin6_port;
    return fd;
}

int listen_anywhere(struct address *anywhere)
{
    anywhere->family = AF_INET6;
    int fd = listen_at(anywhere, true);
    if (fd >= 0 || errno == EADDRINUSE || errno == EACCES)
        return fd;
    anywhere->family = AF_INET;
    return listen_at(anywhere, false);
}

/* One socket for everything. */
static int listen_everywhere(struct address_list *list)
{
    struct address anywhere = {0};
    int fd = listen_anywhere(&anywhere), kept = 0;
    for (int i = 0; i < list->count; i++) {
        if (anywhere.family == AF_INET && list->list[i].family != AF_INET)
            continue;
        list->list[kept] = list->list[i];
        list->list[kept++].port = anywhere.port;
    }
    list->count = kept;
    return fd;
}

bool listeners_open(struct address_list *list, struct listeners *listeners)
{
    int kept = 0, error = 0;
    *listeners = (struct listeners){.count = 0};
    for (int i = 0; i < list->count && error != EADDRINUSE; i++) {
        int fd = listen_at(&list->list[i], false);
        if (fd < 0) {
            error = errno; /* an IPv6 address may still be tentative: the others suffice */
            continue;
        }
        listeners->fd[listeners->count++] = fd;
        list->list[kept++] = list->list[i];
    }
    list->count = kept;
    if (error == EADDRINUSE)
        listeners_close(listeners);
    errno = error;
    return listeners->count > 0;
}

enum status addresses_listen(const char *interface, bool loopback, struct listeners *listeners,
                             struct address_list *list)
{
    loopback = loopback && !interface;
    *listeners = (struct listeners){.count = 0};
    TRY(addresses_explore(interface, loopback, list));
    if (interface || loopback) {
        listeners_open(list, listeners);
    } else {
        int fd = listen_everywhere(list);
        if (fd >= 0)
            listeners->fd[listeners->count++] = fd;
    }
    if (listeners->count == 0)
        return fail(STATUS_ERROR, "cannot listen for peers on %s: %s",
                    interface  ? interface
                    : loopback ? "the loopback device"
                               : "any address",
                    strerror(errno));
    return STATUS_OK;
}

enum status addresses_find(const char *interface, struct address_list *list)
{
    return addresses_explore(interface, false, list);
}

enum status interface_check(const char *interface)
{
    struct address_list here;
    return interface ? addresses_find(interface, &here) : STATUS_OK;
}

void listeners_close(struct listeners *listeners)
{
    while (listeners->count > 0)
        close(listeners->fd[--listeners->count]);
}

/* The blob: host (8 bytes), then for each address its family (4 or 6), prefix, port and bytes. */
#define BLOB_HEAD    8
#define BLOB_ADDRESS 20
_Static_assert(BLOB_HEAD + BLOB_ADDRESS * ADDRESSES_MOST == ADDRESSES_BLOB_MOST,
               "ADDRESSES_BLOB_MOST is the size of a full list");

size_t addresses_encode(const struct address_list *list, void *blob)
{
    unsigned char *at = blob;
    memcpy(at, &list->host, BLOB_HEAD);
    at += BLOB_HEAD;
    for (int i = 0; i < list->count; i++, at += BLOB_ADDRESS) {
        const struct address *address = &list->list[i];
        at[0] = address->family == AF_INET ? 4 : 6;
        at[1] = address->prefix;
        memcpy(at + 2, &address->port, 2);
        memcpy(at + 4, address->bytes, sizeof(address->bytes));
    }
    return (size_t)(at - (unsigned char *)blob);
}

bool addresses_decode(const void *blob, size_t size, struct address_list *list)
{
    const unsigned char *at = blob;
    if (size < BLOB_HEAD || (size - BLOB_HEAD) % BLOB_ADDRESS ||
        (size - BLOB_HEAD) / BLOB_ADDRESS > ADDRESSES_MOST)
        return false;
    *list = (struct address_list){.count = (int)((size - BLOB_HEAD) / BLOB_ADDRESS)};
    memcpy(&list->host, at, BLOB_HEAD);
    at += BLOB_HEAD;
    for (int i = 0; i < list->count; i++, at += BLOB_ADDRESS) {
        struct address *address = &list->list[i];
        if (at[0] != 4 && at[0] != 6)
            return false;
        address->family = at[0] == 4 ? AF_INET : AF_INET6;
        address->prefix = at[1];
        memcpy(&address->port, at + 2, 2);
        memcpy(address->bytes, at + 4, sizeof(address->bytes));
    }
    return true;
}

/* The larger, the sooner the address is tried; 0: never. */
static int route_merit(const struct address_list *here, const struct address_list *there,
                       const struct address *address)
{
    if (here->host == there->host)
        return address_is_loopback(address) ? 3 : 2;
    if (address_is_loopback(address))
        return 0;
    int merit = 1;
    for (int i = 0; i < here->count; i++) {
        if (address_same(&here->list[i], address))
            return 0; /* this host has the same address */
        if (here->list[i].prefix && address_agrees(&here->list[i], address, here->list[i].prefix))
            merit = 2;
    }
    return merit;
}

int addresses_routes(const struct address_list *here, const struct address_list *there,
                     struct address routes[ADDRESSES_MOST])
{
    int count = 0;
    for (int merit = 3; merit > 0; merit--) {
        for (int i = 0; i < there->count; i++) {
            if (route_merit(here, there, &there->list[i]) == merit)
                routes[count++] = there->list[i];
        }
    }
    return count;
}
