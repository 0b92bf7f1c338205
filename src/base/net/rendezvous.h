/*
 * rendezvous.h - how rank 0 listens at HOST:PORT, and how the other ranks find it there.
 *
 * Every way to fail has its own sentence, since here a user's command line meets the network.
 */
#ifndef CCTEST_BASE_NET_RENDEZVOUS_H
#define CCTEST_BASE_NET_RENDEZVOUS_H

#include "base/net/address.h"

/* Rank 0: listens at `port`, or at the first of the `spare` ports after it that is free. On
 * `interface`, if not NULL; else on `host`, if that is an address or "localhost"; else on all
 * addresses of this host, IPv4 and IPv6. */
enum status rendezvous_listen(const char *interface, const char *host, int port, int spare,
                              struct listeners *listeners);

/* Rank 0, which listens at `listener`: warns if `host` is unknown here or does not lead to this
 * host. The other hosts may know better. Fails only for a signal. */
enum status rendezvous_warn(const char *interface, const char *host, int port, int listener);

/* STATUS_USAGE if `host`, to which the ranks connect, is at loopback, and `interface`, on which
 * rank 0 listens, is not. `interface` may be NULL. */
enum status rendezvous_check_interface(const char *interface, const char *host);

/* Resolves `host` to at most ADDRESSES_MOST addresses. Waits for a name server for `seconds` at
 * most, or until a signal comes that ends the job; `late`: so long also for the name, which no
 * server may know yet. With an `interface` (else NULL), rank 0 does
 * not listen at loopback, where many hosts have their own name: addresses of this host's
 * `interface` replace addresses at loopback. */
enum status rendezvous_resolve(const char *interface, const char *host, int port, double seconds,
                               bool late, struct address routes[ADDRESSES_MOST], int *count);

#endif
