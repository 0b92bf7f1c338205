/*
 * rdma_port.h - what sysfs says of a port of an RDMA NIC. A port is named "mlx5_0:1": the NIC, and
 * the port's number there.
 */
#ifndef CCTEST_HOST_RDMA_PORT_H
#define CCTEST_HOST_RDMA_PORT_H

#include "host/gid_table.h"

#define RDMA_NIC_MOST 64 /* bytes of a NIC's name, with its 0: the kernel's IB_DEVICE_NAME_MAX */

/* Texts are "" where sysfs has none. */
struct rdma_port {
    char model[32];               /* "MT4129" */
    char firmware[64];            /* "28.39.1002" */
    char node_type[32];           /* "CA", "RNIC" */
    char link_layer[32];          /* "InfiniBand", "Ethernet" */
    char state[32], physical[32]; /* "ACTIVE", "LinkUp" */
    char rate_text[64];           /* "400 Gb/sec (4X NDR)" */
    double rate;                  /* Gb/s; 0: the text is none of this form */
    char width[16];               /* "4X"; "": likewise */
    struct gid_entry gids[GID_TABLE_MOST];
    int gid_count;
};

/* `sysfs`: "/sys", but in tests. A port that is not there has no texts. */
void rdma_port_read(const char *sysfs, const char *nic, int number, struct rdma_port *port);

/* The network device of the first GID that has one; "": none has. */
const char *rdma_port_netdev(const struct rdma_port *port);

/* Takes "mlx5_0:1" apart; false: it is no name of a port. */
bool rdma_port_parse(const char *name, char nic[RDMA_NIC_MOST], int *number);

/* The PCI address of a NIC, to at least 16 bytes: of a virtual one (rxe, siw) that of the network
 * device that it stands on. "": it has none. */
void rdma_nic_bus(const char *sysfs, const char *nic, char *bus);

/* Calls `each` for all ports of this machine's NICs, in the order of their names. */
void rdma_ports_each(const char *sysfs, void (*each)(void *context, const char *nic, int number),
                     void *context);

#endif
