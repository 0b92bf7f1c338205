/*
 * root_address.h - where rank 0 listens, and the addresses that lead from a rank to it.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_ROOT_ADDRESS_H
#define CCTEST_CONTROLPLANE_CONTROL_ROOT_ADDRESS_H

#include "controlplane/control/membership.h"

struct root_address {
    const struct membership *membership;
    struct address routes[ADDRESSES_MOST];
    int count;
    int spare_port;  /* which of rank 0's spare ports `routes` have; 0: its first */
    char place[320]; /* for a human: "node1 port 4711" */
};

/* Finds them; `membership` stays the caller's. A name server has `seconds` to answer. Fails with a
 * sentence. */
enum status root_address_find(const struct membership *membership, double seconds,
                              struct root_address *root);

/* Rank 0 listens where the others look for it, unless membership->listeners do already. */
enum status root_address_listen(const struct membership *membership, struct listeners *listeners);

/* Turns to the next of rank 0's spare ports; false: all were tried, or there are none, and the first
 * is next. */
bool root_address_next_port(struct root_address *root);

/* Are all ranks on this host? Then they listen on loopback alone, where no other host can
 * connect. */
bool root_address_stays_here(const struct root_address *root);

#endif
