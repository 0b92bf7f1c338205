/*
 * rdma_port.c - what sysfs says of a port of an RDMA NIC.
 *
 *     /sys/class/infiniband/mlx5_0/     hca_type, fw_ver, node_type, device -> the PCI device
 *         ports/1/                      state, phys_state, rate, link_layer
 *             gids/, gid_attrs/         the GID table
 *             counters/, hw_counters/   what the port has counted
 */
#include "host/host.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The GID table of an RDMA port, as sysfs shows it.
 *
 * An entry that is not set reads as zeros, and its type cannot be read. The kernel says "IB/RoCE
 * v1" for both: the port's link layer tells which.
 */
const char *const gid_kind_names[GID_KINDS] = {"IB", "RoCE v1", "RoCE v2"};

static bool entry_read(const char *folder, bool is_ethernet, struct gid_entry *entry)
{
    static const unsigned char zeros[16];
    char text[64];
    if (!sysfs_text(text, sizeof text, "%s/gids/%d", folder, entry->index) ||
        inet_pton(AF_INET6, text, entry->raw) != 1 || memcmp(entry->raw, zeros, 16) == 0)
        return false;
    sysfs_text(text, sizeof text, "%s/gid_attrs/types/%d", folder, entry->index);
    entry->kind = strcmp(text, "RoCE v2") == 0 ? GID_KIND_ROCE_V2
                  : is_ethernet                ? GID_KIND_ROCE_V1
                                               : GID_KIND_IB;
    sysfs_text(entry->netdev, sizeof entry->netdev, "%s/gid_attrs/ndevs/%d", folder, entry->index);
    return true;
}

int gid_table_read(const char *sysfs, const char *nic, int port, struct gid_entry *entries,
                   int most)
{
    char folder[SYSFS_PATH_MOST], layer[32], **names;
    int filled = 0;
    snprintf(folder, sizeof folder, "%s/class/infiniband/%s/ports/%d", sysfs, nic, port);
    sysfs_text(layer, sizeof layer, "%s/link_layer", folder);
    int count = sysfs_names(&names, "%s/gids", folder);
    for (int i = 0; i < count && i < GID_TABLE_MOST && filled < most; i++) {
        struct gid_entry entry = {.index = i};
        if (entry_read(folder, strcmp(layer, "Ethernet") == 0, &entry))
            entries[filled++] = entry;
    }
    sysfs_names_free(names, count);
    return filled;
}

bool gid_is_ipv4(const unsigned char raw[16])
{
    static const unsigned char mapped[12] = {[10] = 255, [11] = 255};
    return memcmp(raw, mapped, sizeof mapped) == 0;
}

const char *gid_text(const unsigned char raw[16], char *text, size_t size)
{
    if (!inet_ntop(AF_INET6, raw, text, (socklen_t)size))
        text[0] = 0;
    return text;
}

/*
 * The facts of a port of an RDMA NIC in sysfs.
 */
/* The word behind "4: " in "4: ACTIVE"; "" if there is no such text. */
static void word_read(const char *folder, const char *file, char word[32])
{
    char text[64];
    sysfs_text(text, sizeof text, "%s/%s", folder, file);
    const char *colon = strstr(text, ": ");
    snprintf(word, 32, "%s", colon ? colon + 2 : "");
}

void rdma_port_read(const char *sysfs, const char *nic, int number, struct rdma_port *port)
{
    char folder[SYSFS_PATH_MOST];
    *port = (struct rdma_port){0};
    snprintf(folder, sizeof folder, "%s/class/infiniband/%s", sysfs, nic);
    word_read(folder, "node_type", port->node_type);
    sysfs_text(port->model, sizeof port->model, "%s/hca_type", folder);
    sysfs_text(port->firmware, sizeof port->firmware, "%s/fw_ver", folder);
    snprintf(folder, sizeof folder, "%s/class/infiniband/%s/ports/%d", sysfs, nic, number);
    word_read(folder, "state", port->state);
    word_read(folder, "phys_state", port->physical);
    sysfs_text(port->link_layer, sizeof port->link_layer, "%s/link_layer", folder);
    sysfs_text(port->rate_text, sizeof port->rate_text, "%s/rate", folder);
    if (sscanf(port->rate_text, "%lf Gb/sec (%15[0-9X]", &port->rate, port->width) != 2 ||
        !(port->rate > 0)) {
        port->rate = 0;
        port->width[0] = '\0';
    }
    port->gid_count = gid_table_read(sysfs, nic, number, port->gids, GID_TABLE_MOST);
}

const char *rdma_port_netdev(const struct rdma_port *port)
{
    for (int i = 0; i < port->gid_count; i++)
        if (port->gids[i].netdev[0])
            return port->gids[i].netdev;
    return "";
}

bool rdma_port_parse(const char *name, char nic[RDMA_NIC_MOST], int *number)
{
    const char *colon = strrchr(name, ':');
    char *end;
    if (!colon || colon == name || colon - name >= RDMA_NIC_MOST || strchr(name, '/') ||
        name[0] == '.' || !isdigit((unsigned char)colon[1]))
        return false;
    long value = strtol(colon + 1, &end, 10);
    memcpy(nic, name, (size_t)(colon - name));
    nic[colon - name] = 0;
    *number = (int)value;
    return value >= 1 && value <= 255 && !*end;
}

void rdma_nic_bus(const char *sysfs, const char *nic, char *bus)
{
    char path[SYSFS_PATH_MOST], netdev[32];
    snprintf(path, sizeof path, "%s/class/infiniband/%s/device", sysfs, nic);
    if (pci_of_path(path, bus))
        return;
    if (!sysfs_text(netdev, sizeof netdev, "%s/class/infiniband/%s/parent", sysfs, nic))
        return;
    snprintf(path, sizeof path, "%s/class/net/%s/device", sysfs, netdev);
    pci_of_path(path, bus);
}

void rdma_ports_each(const char *sysfs, void (*each)(void *context, const char *nic, int number),
                     void *context)
{
    char **nics, **ports, *end;
    int nic_count = sysfs_names(&nics, "%s/class/infiniband", sysfs);
    for (int i = 0; i < nic_count; i++) {
        int count = sysfs_names(&ports, "%s/class/infiniband/%s/ports", sysfs, nics[i]);
        for (int p = 0; p < count; p++) {
            long number = strtol(ports[p], &end, 10);
            if (number >= 1 && number <= 255 && !*end && strlen(nics[i]) < RDMA_NIC_MOST)
                each(context, nics[i], (int)number);
        }
        sysfs_names_free(ports, count);
    }
    sysfs_names_free(nics, nic_count);
}

/*
 * The counters of an RDMA port, read from sysfs, and what they tell.
 *
 *     ports/1/counters/       of the link, as InfiniBand's specification defines them
 *     ports/1/hw_counters/    of the driver, with names of its own
 *     hw_counters/            of the driver, for the NIC
 *     ethtool -S              pause frames of its network device (kernel_counters.c)
 *
 * A name that is in neither list below is passed through as COUNTER_OTHER.
 */
/* Errors, and what follows from lost packets. Not here: port_rcv_switch_relay_errors and discards,
 * which healthy networks count; flushed requests, which each connection that is closed counts. */
static const char *const faulty[] = {
    /* the link */
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",
    "port_rcv_remote_physical_errors", "port_rcv_constraint_errors", "port_xmit_constraint_errors",
    "local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped",
    /* mlx5 */
    "local_ack_timeout_err", "packet_seq_err", "out_of_sequence", "rnr_nak_retry_err",
    "rx_icrc_encapsulated", "duplicate_request", "implied_nak_seq_err", "out_of_buffer",
    "req_transport_retries_exceeded", "req_remote_access_errors", "req_remote_invalid_request",
    "resp_remote_access_errors", "resp_local_length_error", "roce_adp_retrans",
    "roce_adp_retrans_to",
    /* rxe */
    "out_of_seq_request", "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err", "retry_exceeded_err",
    "retry_rnr_exceeded_err", "completer_retry_err", "send_err",
    /* bnxt_re, irdma, hns */
    "to_retransmits", "max_retry_exceeded", "seq_err_naks_rcvd", "rnr_naks_rcvd", "missing_resp",
    "dup_req", "oos_drop_count", "unrecoverable_err", "tcpRetransSegs", "tcpInProtoErrors"};

static const char *const congested[] = {
    "np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored",
    "port_xmit_wait", "roce_slow_restart", "roce_slow_restart_cnps", "roce_slow_restart_trans",
    /* bnxt_re, irdma */
    "rx_cnp_pkts", "tx_cnp_pkts", "rx_ecn_marked_pkts", "cnpSent", "cnpHandled", "cnpIgnored",
    "RxECNMrkd"};

static bool is_listed(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static enum counter_class class_of(const char *name)
{
    if (is_listed(name, faulty, sizeof faulty / sizeof *faulty))
        return COUNTER_FAULTY;
    return is_listed(name, congested, sizeof congested / sizeof *congested) ? COUNTER_CONGESTED
                                                                            : COUNTER_OTHER;
}

/* "lifespan" is no counter: for how many milliseconds the driver repeats its last answer. */
static void folder_add(const char *folder, struct counter_list *list)
{
    char **names;
    int count = sysfs_names(&names, "%s", folder);
    for (int i = 0; i < count; i++) {
        uint64_t value;
        if (strcmp(names[i], "lifespan") != 0 && sysfs_number(&value, "%s/%s", folder, names[i]))
            counter_add(list, names[i], class_of(names[i]), value);
    }
    sysfs_names_free(names, count);
}

/* The network device of the first GIDs. */
static void netdev_read(const char *sysfs, const char *nic, int port, char netdev[16])
{
    netdev[0] = 0;
    for (int i = 0; i < 4 && !netdev[0]; i++)
        sysfs_text(netdev, 16, "%s/class/infiniband/%s/ports/%d/gid_attrs/ndevs/%d", sysfs, nic,
                   port, i);
}

void port_counters(const char *sysfs, const char *name, struct counter_list *list)
{
    char nic[RDMA_NIC_MOST], folder[SYSFS_PATH_MOST], netdev[16];
    int port;
    if (!rdma_port_parse(name, nic, &port))
        return;
    snprintf(folder, sizeof folder, "%s/class/infiniband/%s/ports/%d/counters", sysfs, nic, port);
    folder_add(folder, list);
    snprintf(folder, sizeof folder, "%s/class/infiniband/%s/ports/%d/hw_counters", sysfs, nic,
             port);
    folder_add(folder, list);
    snprintf(folder, sizeof folder, "%s/class/infiniband/%s/hw_counters", sysfs, nic);
    folder_add(folder, list);
    netdev_read(sysfs, nic, port, netdev);
    pause_counters(netdev, list);
}
