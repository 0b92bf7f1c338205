/*
 * nic_ports.h - the NIC ports of a fleet that its jobs may use, over verbs.
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_NIC_PORTS_H
#define CCTEST_CONTROLPLANE_AGENTS_NIC_PORTS_H

#include "host/facts/inventory.h"
#include "host/nics.h"
#include "dataplane/transport/transport.h"

/* The one of a job's transports (ended by a NULL transport) that goes through NIC ports: verbs. NULL: it
 * may use none. */
const struct transport_choice *nic_port_choice(const struct transport_choice *choices);

/* The ports that are active on more than half of the hosts whose inventory is known (NULL: of none), and
 * that a job with these transports may use: verbs is among them, and nic= names them if it is given. The
 * names are the inventories' own: "mlx5_2". Returns how many. */
int nic_ports_find(const struct transport_choice *choices, const struct inventory *inventories, int hosts,
                   const char *ports[RAILS_MOST]);

/* Is the port active on this host, as far as is known? */
bool nic_port_is_at(const char *port, const struct inventory *inventories, int host);

/* The transport, as of nic_port_choice(), is to use this port alone, "mlx5_2": its nic= is then "mlx5_2:1",
 * written into `nic`, which must stay, and rails= is not given. */
#define NIC_TEXT_MOST (PART_NAME_MOST + 8)
void nic_port_take(struct transport_choice *choice, const char *port, char nic[NIC_TEXT_MOST]);

/* What --transport must say for a job through this port alone: "verbs:nic=mlx5_2:1", with the user's
 * other options of verbs. Returns `text`. */
#define PORT_TRANSPORT_MOST (TRANSPORT_LIST_MOST + PART_NAME_MOST + 16)
const char *nic_port_transport(const struct transport_choice *choices, const char *port,
                               char text[PORT_TRANSPORT_MOST]);

/* May a job with these transports go over verbs, and has this host a NIC for it, usable or not? */
bool verbs_is_present(const struct transport_choice *choices);

#endif
