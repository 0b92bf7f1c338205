/*
 * host_counters.c - all that a host counts.
 */
#include "host/facts/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "host/nvml/gpus.h"

#define GPUS_MOST 16
#define FILE_MOST ((size_t)1 << 16)

struct host_counters {
    struct inventory_source source;
    struct inquiry *inquiry;
    char sysfs[SYSFS_PATH_MOST / 2];
    struct meter *gpus[GPUS_MOST]; /* NULL: it has no meter */
    char buses[GPUS_MOST][16];
    int gpu_count;
};

struct host_counters *host_counters_open(const struct inventory_source *source,
                                         struct inquiry *inquiry)
{
    struct device_list list = {.inquiry = inquiry};
    struct host_counters *counters = new_array(1, sizeof *counters);
    *counters = (struct host_counters){.source = *source, .inquiry = inquiry};
    snprintf(counters->sysfs, sizeof counters->sysfs, "%s/sys", source->root);
    if (source->asks_nvml)
        gpus_add(&list);
    for (int i = 0; i < list.count && counters->gpu_count < GPUS_MOST; i++) {
        inquiry_asks(inquiry, "GPU", list.devices[i].bus, "");
        memcpy(counters->buses[counters->gpu_count], list.devices[i].bus,
               sizeof list.devices[i].bus);
        counters->gpus[counters->gpu_count++] = gpu_meter_open(list.devices[i].bus);
    }
    device_list_free(&list);
    return counters;
}

void host_counters_close(struct host_counters *counters)
{
    for (int i = 0; counters && i < counters->gpu_count; i++)
        if (counters->gpus[i])
            counters->gpus[i]->close(counters->gpus[i]);
    free(counters);
}

/* Keeps the device only if it counts something. */
static void device_keep(struct device_changes *now, const char *name, struct counter_list *list)
{
    struct counter_list *kept = list->count > 0 ? device_changes_add(now, name) : NULL;
    if (kept)
        *kept = *list;
    else
        counter_list_free(list);
}

/* TCP of this network namespace: /proc/net/snmp and netstat have two lines for each protocol, the
 * names and their values. */

static const struct {
    const char *name;
    enum counter_class class;
} tcp_counters[] = {
    {"InErrs", COUNTER_FAULTY},
    {"InCsumErrors", COUNTER_FAULTY},
    {TCP_RESENT, COUNTER_CONGESTED},
    {"TCPTimeouts", COUNTER_CONGESTED},
    {"TCPLostRetransmit", COUNTER_CONGESTED},
    {"TCPFastRetrans", COUNTER_CONGESTED},
    {"TCPSlowStartRetrans", COUNTER_CONGESTED},
    {"TCPSynRetrans", COUNTER_CONGESTED},
    {"TCPMTUPFail", COUNTER_CONGESTED},
    {TCP_SENT_TWICE, COUNTER_CONGESTED},
    {TCP_CAME_TWICE, COUNTER_CONGESTED},
    {"AttemptFails", COUNTER_OTHER},
    {"EstabResets", COUNTER_OTHER},
};

static void tcp_value_add(struct counter_list *list, const char *name, size_t length,
                          uint64_t value)
{
    for (size_t i = 0; i < sizeof tcp_counters / sizeof *tcp_counters; i++) {
        char full[COUNTER_NAME_MOST];
        if (strlen(tcp_counters[i].name) != length ||
            memcmp(tcp_counters[i].name, name, length) != 0)
            continue;
        snprintf(full, sizeof full, TCP_COUNTER "%s", tcp_counters[i].name);
        counter_add(list, full, tcp_counters[i].class, value);
    }
}

/* `prefix`: "Tcp: " */
static void tcp_lines_add(struct counter_list *list, const char *text, const char *prefix)
{
    const char *names = text ? strstr(text, prefix) : NULL;
    const char *values = names ? strstr(names + strlen(prefix), prefix) : NULL;
    if (!values)
        return;
    names += strlen(prefix);
    values += strlen(prefix);
    while (*names && *names != '\n') {
        char *end;
        size_t length = strcspn(names, " \n");
        long long value = strtoll(values, &end, 10); /* MaxConn is -1 */
        if (end == values)
            return;
        if (value >= 0)
            tcp_value_add(list, names, length, (uint64_t)value);
        names += length + (names[length] == ' ');
        values = end;
    }
}

static void tcp_add(const struct host_counters *counters, struct counter_list *list)
{
    static const char *const files[] = {"snmp", "netstat"}, *const prefixes[] = {"Tcp: ",
                                                                                 "TcpExt: "};
    for (int i = 0; i < 2; i++) {
        char *text = sysfs_whole(FILE_MOST, "%s/proc/net/%s", counters->source.root, files[i]);
        tcp_lines_add(list, text, prefixes[i]);
        free(text);
    }
}

static void host_add(const struct host_counters *counters, struct device_changes *now)
{
    struct counter_list list = {0};
    struct memory_errors errors;
    uint64_t throttles;
    inquiry_asks(counters->inquiry, "the", "kernel", "");
    if (memory_errors_read(counters->sysfs, &errors)) {
        counter_add(&list, "memory_errors_uncorrected", COUNTER_FAULTY, errors.uncorrected);
        counter_add(&list, "memory_errors_corrected", COUNTER_FAULTY, errors.corrected);
    }
    if (cpu_throttles_read(counters->sysfs, &throttles))
        counter_add(&list, "cpu_thermal_throttles", COUNTER_FAULTY, throttles);
    tcp_add(counters, &list);
    device_keep(now, "host", &list);
}

/* NICs and interfaces. */

struct nics_reading {
    const struct host_counters *counters;
    struct device_changes *now;
};

static void nic_add(void *context, const char *nic, int number)
{
    const struct nics_reading *reading = context;
    struct counter_list list = {0};
    char part[PART_NAME_MOST], name[RDMA_NIC_MOST + 8];
    snprintf(name, sizeof name, "%s:%d", nic, number);
    inquiry_asks(reading->counters->inquiry, "NIC", name, "");
    port_counters(reading->counters->sysfs, name, &list);
    device_keep(reading->now, nic_part(nic, number, part), &list);
}

static const struct {
    const char *name;
    enum counter_class class;
} interface_counters[] = {
    {"rx_errors", COUNTER_FAULTY},         {"tx_errors", COUNTER_FAULTY},
    {"rx_crc_errors", COUNTER_FAULTY},     {"rx_frame_errors", COUNTER_FAULTY},
    {"rx_length_errors", COUNTER_FAULTY},  {"tx_carrier_errors", COUNTER_FAULTY},
    {"tx_aborted_errors", COUNTER_FAULTY}, {"rx_dropped", COUNTER_CONGESTED},
    {"tx_dropped", COUNTER_CONGESTED},     {"rx_missed_errors", COUNTER_CONGESTED},
    {"rx_fifo_errors", COUNTER_CONGESTED}, {"rx_over_errors", COUNTER_CONGESTED},
};

static void interface_add(const struct host_counters *counters, const char *netdev,
                          struct device_changes *now)
{
    struct counter_list list = {0};
    uint64_t value;
    inquiry_asks(counters->inquiry, "network interface", netdev, "");
    for (size_t i = 0; i < sizeof interface_counters / sizeof *interface_counters; i++)
        if (sysfs_number(&value, "%s/class/net/%s/statistics/%s", counters->sysfs, netdev,
                         interface_counters[i].name))
            counter_add(&list, interface_counters[i].name, interface_counters[i].class, value);
    if (sysfs_number(&value, "%s/class/net/%s/carrier_down_count", counters->sysfs, netdev))
        counter_add(&list, "carrier_lost", COUNTER_FAULTY, value);
    if (!counters->source.root[0])
        pause_counters(netdev, &list);
    device_keep(now, netdev, &list);
}

static void interfaces_add(const struct host_counters *counters, struct device_changes *now)
{
    char **names;
    int count = interfaces_find(counters->sysfs, &names);
    for (int i = 0; i < count; i++)
        interface_add(counters, names[i], now);
    sysfs_names_free(names, count);
}

/* All PCI devices, slots among them, that report errors, as one device: a host has more of them
 * than devices travel. */
static void pcie_add(const struct host_counters *counters, struct device_changes *now)
{
    char **names;
    struct counter_list list = {0};
    int count = sysfs_names(&names, "%s/bus/pci/devices", counters->sysfs);
    for (int i = 0; i < count; i++) {
        struct pci_errors errors;
        char name[COUNTER_NAME_MOST];
        if (!pci_errors_read(counters->sysfs, names[i], &errors))
            continue;
        snprintf(name, sizeof name, "%.16s_correctable", names[i]);
        counter_add(&list, name, COUNTER_FAULTY, errors.correctable);
        snprintf(name, sizeof name, "%.16s_nonfatal", names[i]);
        counter_add(&list, name, COUNTER_FAULTY, errors.nonfatal);
        snprintf(name, sizeof name, "%.16s_fatal", names[i]);
        counter_add(&list, name, COUNTER_FAULTY, errors.fatal);
    }
    sysfs_names_free(names, count);
    device_keep(now, "PCIe", &list);
}

static void gpus_read(const struct host_counters *counters, struct device_changes *now)
{
    for (int i = 0; i < counters->gpu_count; i++) {
        struct counter_list list = {0};
        if (!counters->gpus[i])
            continue;
        inquiry_asks(counters->inquiry, "GPU", counters->buses[i], "");
        counters->gpus[i]->read(counters->gpus[i], &list);
        device_keep(now, counters->buses[i], &list);
    }
}

void host_counters_read(struct host_counters *counters, struct device_changes *now)
{
    struct nics_reading reading = {.counters = counters, .now = now};
    host_add(counters, now);
    pcie_add(counters, now);
    gpus_read(counters, now);
    rdma_ports_each(counters->sysfs, nic_add, &reading);
    interfaces_add(counters, now);
}
