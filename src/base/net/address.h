/*
 * address.h - the addresses at which a rank listens, and the order in which a peer tries them.
 */
#ifndef CCTEST_BASE_NET_ADDRESS_H
#define CCTEST_BASE_NET_ADDRESS_H

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

struct address_list {
    uint64_t host; /* equal for ranks that share a loopback device (a hash) */
    int count;
    struct address list[ADDRESSES_MOST];
};

struct listeners {
    int fd[ADDRESSES_MOST]; /* non-blocking */
    int count;
};

/* Listens on `interface` (a device, or an address of one; NULL: all, or with `loopback` loopback
 * alone), at ports that the kernel chooses. Lists the addresses. After an error nothing is open. */
enum status addresses_listen(const char *interface, bool loopback, struct listeners *listeners,
                             struct address_list *list);
void listeners_close(struct listeners *listeners);

/* Opens a non-blocking listening socket and sets the port in `address` (0: the kernel chooses
 * one). An IPv6 socket also accepts IPv4 if `both_families`. Returns -1 with errno. */
int listen_at(struct address *address, bool both_families);
/* The same for all addresses of this host, at the port of `anywhere`; sets the family: AF_INET6
 * accepts IPv4, too. */
int listen_anywhere(struct address *anywhere);

/* Lists the addresses of this host, or of `interface` if not NULL, without listening. */
enum status addresses_find(const char *interface, struct address_list *list);
/* STATUS_USAGE if this host has no `interface`. NULL is allowed. */
enum status interface_check(const char *interface);

/* Listens at each address of the list, at its port (0: the kernel chooses one), and removes
 * addresses at which that fails. False with errno, and nothing open, if none is left or a port
 * is taken. */
bool listeners_open(struct address_list *list, struct listeners *listeners);

/* To and from the form in which ranks exchange it; addresses_decode() returns false for invalid
 * bytes. */
#define ADDRESSES_BLOB_MOST (8 + 20 * ADDRESSES_MOST)
size_t addresses_encode(const struct address_list *list, void *blob);
bool addresses_decode(const void *blob, size_t size, struct address_list *list);

/* Sorts the addresses of `there` that may be reachable from `here`, the likeliest first; returns
 * their number. */
int addresses_routes(const struct address_list *here, const struct address_list *there,
                     struct address routes[ADDRESSES_MOST]);

/* Converts for connect() and bind(); returns the size. */
socklen_t address_socket(const struct address *address, struct sockaddr_storage *socket_address);
/* Converts back; false: another family. */
bool address_of(const struct sockaddr *socket_address, struct address *address);

#define ADDRESS_TEXT (INET6_ADDRSTRLEN + 12)
/* "10.0.0.7 port 4711" */
const char *address_text(const struct address *address, char text[ADDRESS_TEXT]);
/* Compares all but the ports. */
bool address_same(const struct address *a, const struct address *b);
bool address_is_loopback(const struct address *address);
/* "10.0.0.7 port 4711: Connection refused; ...": the outcome of each attempt (NULL: not tried).
 * Cut off at `size`. */
const char *routes_text(const struct address *routes, const char *const *outcomes, int count,
                        char *text, size_t size);

#endif
