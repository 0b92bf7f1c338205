/*
 * socket.h - non-blocking TCP sockets: how rank 0 listens and is found, each way to fail with a
 * sentence, and how any two ranks connect.
 */
#ifndef CCTEST_NET_SOCKET_H
#define CCTEST_NET_SOCKET_H

#include <stdbool.h>

#include "net/address.h"

/* Listens at `port`, or at the first of the `spare` ones after it that is free: on `interface`
 * (NULL: none is asked for); else on `host` if that is an address or "localhost"; else on all
 * addresses of this machine, IPv4 and IPv6. */
enum status rendezvous_listen(const char *interface, const char *host, int port, int spare,
                              struct listeners *listeners);
/* Rank 0, which listens at `listener`: says so if `host` is unknown here, or does not lead to it;
 * the others may know better. Fails only for a signal. */
enum status rendezvous_warn(const char *interface, const char *host, int port, int listener);
/* STATUS_USAGE, with the reason, if the user sends ranks to `host`, which is at loopback, and
 * `interface` (NULL: none is asked for) is not. */
enum status rendezvous_check_interface(const char *interface, const char *host);
/* Finds the first addresses of `host`, and waits for a name server for `seconds` at most, or until
 * a signal comes that ends the job. Who listens on an interface is not at loopback, though many a
 * host has its own name there: then those of this host's `interface` take that place. */
enum status rendezvous_resolve(const char *interface, const char *host, int port, double seconds,
                               struct address routes[ADDRESSES_MOST], int *count);
/* Begins to connect; -1 with errno. */
int socket_connect(const struct address *address);
/* Did a connect that poll() reported succeed? 0 or an errno. */
int socket_connect_result(int fd);
void socket_set_prompt(int fd); /* small messages leave at once */
/* Have both ends of a connection the same address, so that what is sent never leaves the host? */
bool socket_stays_here(int fd);

#endif
