/*
 * rails.h - the rails of a fleet: NIC ports by which its pairs are measured one after the other.
 *
 * A rail is a NIC port that is active on more than half of the hosts whose inventory is known. There
 * are rails where the transport may be verbs and two such ports are there; those that nic= names, if
 * the user gave it. Else the fleet has one rail without a name: the transports as they were given.
 */
#ifndef CCTEST_ACCEPT_RAILS_H
#define CCTEST_ACCEPT_RAILS_H

#include "inventory/inventory.h"
#include "run/job.h"
#include "screening/fleet.h"

struct rails {
    int count;                     /* 0: not looked for yet */
    int dropped;                   /* that could not be used */
    const char *names[RAILS_MOST]; /* "mlx5_2", the inventories' own; the first NULL: no name */
    double rates[RAILS_MOST];      /* GB/s of the rail's link in one direction; 0: not known */
};

/* From the inventories by host (NULL: not known), which must stay. Without NICs a rail's rate is that of
 * the network interfaces that are up, if they agree. False: out of memory. */
bool rails_find(const struct job *job, const struct inventory *inventories, int hosts,
                struct rails *rails);

/* Is a rail a NIC port, with a name? All are, or there is one that is none. */
bool rails_have_names(const struct rails *rails);

/* Is the NIC port active on this host, as far as is known? */
bool rail_is_at(const struct rails *rails, int rail, const struct inventory *inventories, int host);

/* What --transport must say for a job on a rail: "verbs:nic=mlx5_2:1", with the user's other options
 * of verbs. NULL: as the user gave it. Else returns `text`. */
#define RAIL_TRANSPORT_MOST (TRANSPORT_LIST_MOST + PART_NAME_MOST + 16)
const char *rail_transport(const struct job *job, const struct rails *rails, int rail,
                           char text[RAIL_TRANSPORT_MOST]);

/* May a job go over verbs, and has this host a NIC for it, usable or not? */
bool verbs_is_present(const struct job *job);

/* Takes a rail out that cannot be used. Without any, there is one without a name. */
void rails_drop(struct rails *rails, int rail);

#endif
