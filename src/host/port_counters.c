/*
 * port_counters.c - the counters of an RDMA port, read from sysfs, and what they tell.
 *
 *     ports/1/counters/       of the link, as InfiniBand's specification defines them
 *     ports/1/hw_counters/    of the driver, with names of its own
 *     hw_counters/            of the driver, for the NIC
 *     ethtool -S              pause frames of its network device (ethtool.c)
 *
 * A name that is in neither list below is passed through as COUNTER_OTHER.
 */
#include "host/host.h"

#include <stdio.h>
#include <string.h>


/* Errors, and what follows from lost packets. Not here: port_rcv_switch_relay_errors and discards,
 * which healthy networks count; flushed requests, which each connection that is closed counts. */
static const char *const sick[] = {
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
    if (is_listed(name, sick, sizeof sick / sizeof *sick))
        return COUNTER_SICK;
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
