/*
 * address.h - where a rank listens for others, and which way to it is the best.
 */
#ifndef CCTEST_NET_ADDRESS_H
#define CCTEST_NET_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/status.h"

#define ADDRESSES_MOST 16

struct address {
    sa_family_t family;      /* AF_INET or AF_INET6 */
    unsigned char prefix;    /* bits that all hosts of its network have in common */
    in_port_t port;          /* in network order */
    unsigned char bytes[16]; /* the first 4 of them for AF_INET */
    uint32_t scope;          /* a link-local IPv6 address's device on this host; else 0 */
};

/* Where a rank listens. */
struct address_list {
    uint64_t host; /* a hash that ranks have in common if they share one loopback device */
    int count;
    struct address list[ADDRESSES_MOST];
};

struct listeners {
    int fd[ADDRESSES_MOST]; /* non-blocking */
    int count;
};

/* Listens on `interface` (a device, or an address of one), at ports that the kernel gives. NULL: on
 * all, or with `loopback` on loopback alone, for where all ranks are on this host. Finds out under
 * which addresses that is. On errors nothing is left open. */
enum status addresses_listen(const char *interface, bool loopback, struct listeners *listeners,
                             struct address_list *home);
void listeners_close(struct listeners *listeners);

/* A listening socket, non-blocking; its port, which the kernel gives for 0, is put into `address`.
 * One of IPv6 takes IPv4 in with `both_families`. -1 with errno. */
int listen_at(struct address *address, bool both_families);
/* The same for all addresses of this host, at the port of `anywhere`; puts in the family that takes
 * in all that the host has. */
int listen_anywhere(struct address *anywhere);

/* Finds out which addresses this host has, or has on `interface` if that is not NULL, without
 * listening: what addresses_routes() goes by. */
enum status addresses_find(const char *interface, struct address_list *home);
/* STATUS_USAGE, with the reason, if `interface` is not NULL and not here. */
enum status interface_check(const char *interface);

/* Listens at each address of `home`, at its port (0: the kernel gives one); takes out those at
 * which it cannot. False with errno, and nothing open, if there is none, or if a port is taken. */
bool listeners_open(struct address_list *home, struct listeners *listeners);

/* To and from the blob that ranks exchange, at most ADDRESSES_BLOB_MOST bytes; addresses_decode() returns false
 * on nonsense. */
#define ADDRESSES_BLOB_MOST (8 + 20 * ADDRESSES_MOST)
size_t addresses_encode(const struct address_list *home, void *blob);
bool addresses_decode(const void *blob, size_t size, struct address_list *home);

/* The addresses of `there` that are worth a try from `here`, the most promising first; returns how
 * many. */
int addresses_routes(const struct address_list *here, const struct address_list *there,
                     struct address routes[ADDRESSES_MOST]);

/* For connect() and bind(); returns the size. */
socklen_t address_socket(const struct address *address, struct sockaddr_storage *socket_address);
/* And back, as the kernel and the resolver give it; false: another family. */
bool address_of(const struct sockaddr *socket_address, struct address *address);

#define ADDRESS_TEXT (INET6_ADDRSTRLEN + 12)
/* "10.0.0.7 port 4711" */
const char *address_text(const struct address *address, char text[ADDRESS_TEXT]);
/* Are they the same, but for the port? */
bool address_same(const struct address *a, const struct address *b);
/* Is it reached from its own host only? */
bool address_is_loopback(const struct address *address);
/* "10.0.0.7 port 4711: Connection refused; ...": what came of trying each of them (NULL: it was not
 * tried). Cut off at `size`. */
const char *routes_text(const struct address *routes, const char *const *outcomes, int count,
                        char *text, size_t size);

#endif
