/*
 * facts.h - what cctest knows of NICs without libibverbs: the facts of ports, the transport's
 * options, and how NICs reach the memory of GPUs.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_FACTS_H
#define CCTEST_TRANSPORTS_VERBS_FACTS_H

#include <sched.h>

#include "dataplane/transport/transport.h"
#include "host/host.h"

/* ---- The facts of RDMA ports, read from sysfs.
 *
 * Needs no verbs library and no permission, so that `cctest info` can say what is missing. A port
 * is named "mlx5_0:1": the NIC, and the port's number there.
 * ---- */

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

/* Adds one port. A port that is not there is not usable. */
struct device *port_add(const struct port_source *source, const char *nic, int number,
                        struct device_list *list);

/* Fills `order` with 0 .. count - 1: the NIC nearest to the device with this PCI address first, or,
 * if that is NULL, "" or unknown, the one nearest to the CPUs that the calling thread may run on;
 * ties keep their order. `distances`: of each NIC, equal where they tie. A virtual NIC stands where
 * its network device stands, or behind all others. */
void ports_by_nearness(const char *sysfs, const char *const *nics, int count, const char *device,
                       int *order, uint64_t *distances);

/* ---- The options behind the transport's name, also of a cctest without libibverbs. ---- */

#define VERBS_RAILS_MOST 8

/* By index in verbs_options[]. */
enum verbs_option {
    VERBS_NIC,
    VERBS_RAILS,
    VERBS_GID,
    VERBS_PKEY,
    VERBS_SL,
    VERBS_TCLASS,
    VERBS_MTU,
    VERBS_TIMEOUT,
    VERBS_RETRY,
    VERBS_QPS,
    VERBS_CONNECT,
    VERBS_POLL,
    VERBS_GDR,
    VERBS_OPTIONS
};
enum verbs_connecting { VERBS_CONNECT_EXCHANGE, VERBS_CONNECT_RDMACM };
enum verbs_poll { VERBS_POLL_MEMORY, VERBS_POLL_CQ };

extern const struct transport_option verbs_options[];

/* A name behind nic=. Port 0: all ports of the NIC. */
struct verbs_nic_name {
    char nic[RDMA_NIC_MOST];
    int port;
};

#define VERBS_MANY_NICS "nic= names more than %d NIC ports: name fewer" /* VERBS_RAILS_MOST */

/* Reads "NAME[:PORT]+...". Returns how many; 0: `reason` (TRANSPORT_REASON_MOST bytes) says what is
 * wrong: no name, no port number, a NIC port twice, or too many. */
int verbs_nic_names(const char *text, struct verbs_nic_name names[VERBS_RAILS_MOST], char *reason);

/* A queue pair waits 4.096 us * 2^timeout for an answer, and sends again `retries` times. */
struct verbs_patience {
    uint8_t timeout, retries;
};

/* A queue pair gives up within `most` seconds (--timeout), so that it names the peer before the
 * job's deadline does. It sends once, and `retries` times again. A NIC may wait four times as long
 * as it was told; most do not, and give up within a quarter. False: the settings ask for longer:
 * `reason` (TRANSPORT_REASON_MOST bytes). */
bool verbs_patience_choose(const struct transport_setting *settings, double most,
                           struct verbs_patience *patience, char *reason);

/* As transport->accepts(). */
bool verbs_accepts(const struct transport_setting *settings, double timeout, char *reason);

/* ---- How the NICs of this node reach the memory of its GPUs (GPUDirect RDMA), and what is
 * missing for a better way.
 * ---- */

/* Adds the fact "GPU memory" (dmabuf, peermem, or not reached), and one for each better way,
 * which is missing; and "ACS" where a bridge above the NIC redirects what it sends to a GPU.
 * Without a GPU driver it adds none. `imports`: the NIC's driver imports dmabufs. `sysfs`, `proc`:
 * /sys and /proc, but in tests. */
void gdr_describe(const char *sysfs, const char *proc, bool imports, struct device *device);

/* ---- Modules of the kernel by which NICs reach the memory of GPUs at its addresses. ---- */

/* The name of a module that is loaded; NULL: none. `sysfs`: PORT_SYSFS, but in tests. */
const char *peermem_module(const char *sysfs);

#endif
