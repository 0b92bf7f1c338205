/*
 * nic_ports.h - the NIC ports of a fleet that its jobs may use, over verbs.
 */
#ifndef CCTEST_ACCEPT_NIC_PORTS_H
#define CCTEST_ACCEPT_NIC_PORTS_H

#include "inventory/inventory.h"
#include "run/job.h"
#include "screening/fleet.h"

/* The ports that are active on more than half of the hosts whose inventory is known (NULL: of none), and
 * that the job may use: its transport may be verbs, and nic= names them if it is given. The names are
 * the inventories' own: "mlx5_2". Returns how many. */
int nic_ports_find(const struct job *job, const struct inventory *inventories, int hosts,
                   const char *ports[RAILS_MOST]);

/* Is the port active on this host, as far as is known? */
bool nic_port_is_at(const char *port, const struct inventory *inventories, int host);

/* What --transport must say for a job through this port alone: "verbs:nic=mlx5_2:1", with the user's
 * other options of verbs. Returns `text`. */
#define PORT_TRANSPORT_MOST (TRANSPORT_LIST_MOST + PART_NAME_MOST + 16)
const char *nic_port_transport(const struct job *job, const char *port,
                               char text[PORT_TRANSPORT_MOST]);

/* May a job go over verbs, and has this host a NIC for it, usable or not? */
bool verbs_is_present(const struct job *job);

#endif
