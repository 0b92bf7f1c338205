/*
 * rails.h - the rails of a fleet: NIC ports by which its pairs are measured one after the other.
 *
 * There are rails where the fleet has two or more NIC ports that its jobs may use (nic_ports.h). Else it
 * has one rail without a name: the transports as they were given.
 */
#ifndef CCTEST_ACCEPT_RAILS_H
#define CCTEST_ACCEPT_RAILS_H

#include "controlplane/agents/nic_ports.h"
#include "run/job.h"

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

/* What --transport must say for a job on a rail (nic_port_transport()). NULL: as the user gave it. */
const char *rail_transport(const struct job *job, const struct rails *rails, int rail,
                           char text[PORT_TRANSPORT_MOST]);

/* Takes a rail out that cannot be used. Without any, there is one without a name. */
void rails_drop(struct rails *rails, int rail);

#endif
