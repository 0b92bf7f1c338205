/*
 * port.h - the facts of RDMA ports, read from sysfs.
 *
 * Needs no verbs library and no permission, so that `cctest info` can say what is missing. A port
 * is named "mlx5_0:1": the NIC, and the port's number there.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_PORT_H
#define CCTEST_TRANSPORTS_VERBS_PORT_H

#include <sched.h>

#include "host/device.h"

#define PORT_SYSFS "/sys"
#define PORT_DEV   "/dev/infiniband"
#define PORT_PROC  "/proc"

/* Where the facts come from. */
struct port_source {
    const char *sysfs;   /* PORT_SYSFS, but in tests */
    const char *dev;     /* PORT_DEV, likewise */
    const char *library; /* why the verbs library cannot be loaded; NULL: it can */
    /* The active MTU in bytes, by ibv_query_port(); 0: unknown. NULL: it stays unknown. */
    int (*mtu)(const char *nic, int port);
    const char *proc; /* PORT_PROC, but in tests */
    /* Does the driver of the NIC import dmabufs? NULL: GPU memory is not asked for. */
    bool (*imports_dmabuf)(const char *nic);
};

/* Has this machine a NIC, usable or not? `sysfs`: PORT_SYSFS. */
bool ports_present(const char *sysfs);

/* Adds all ports of this machine to the list, with facts, usable or not and why not. */
void ports_add(const struct port_source *source, struct device_list *list);

/* Adds one port. A port that is not there is not usable. NULL: out of memory, which the list
 * remembers. */
struct device *port_add(const struct port_source *source, const char *nic, int number,
                        struct device_list *list);

/* Fills `order` with 0 .. count - 1: the NIC nearest to the device with this PCI address first, or,
 * if that is NULL, "" or unknown, the one nearest to the CPUs that the calling thread may run on;
 * ties keep their order. `distances`: of each NIC, equal where they tie. A virtual NIC stands where
 * its network device stands, or behind all others. */
void ports_by_nearness(const char *sysfs, const char *const *nics, int count, const char *device,
                       int *order, uint64_t *distances);

#endif
