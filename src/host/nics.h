/*
 * nics.h - the NICs of a host: RDMA devices and network interfaces of hardware, by what sysfs says.
 */
#ifndef CCTEST_HOST_NICS_H
#define CCTEST_HOST_NICS_H

#include <stdbool.h>

#include "host/rdma_port.h"

#define NIC_INTERFACES_MOST 64
#define RAILS_MOST          64 /* ports of a host that the jobs of a fleet use, each by itself */

struct nic {
    char name[RDMA_NIC_MOST];             /* "mlx5_0", or that of an interface: "eth0" */
    char interfaces[NIC_INTERFACES_MOST]; /* at its PCI device, of an RDMA NIC: "ens1f0, ens1f1" */
    char bus[16];                         /* PCI address; "": it has none */
    bool is_rdma;
    bool is_up; /* the interface, or a port of the RDMA NIC */
};

/* All of them, RDMA NICs first, as an array that the caller frees; *nics is NULL where there are
 * none. An interface that stands at the PCI device of an RDMA NIC is named there. Returns how many;
 * -1: out of memory. */
int nics_find(const char *sysfs, struct nic **nics);

/* Does a network interface stand on hardware of this host, or join such (a bond)? Those of
 * containers and virtual machines (veth, bridges, taps), and virtual functions, come and go from
 * host to host. */
bool interface_is_hardware(const char *sysfs, const char *netdev);

#endif
