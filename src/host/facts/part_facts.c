/*
 * part_facts.c - the facts of NICs, network interfaces, GPUs and NVMe drives.
 */
#include "host/facts/internal.h"

#include <ctype.h>
#include <limits.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/text.h"
#include "host/nvml/gpus.h"

#define BUS_MOST 16

/* A link is as fast as the slower of its ends. A virtual machine shows devices without their slots,
 * and links without a speed. */
static void link_add(struct fact_look *look, const char *part, const char *bus)
{
    char above[BUS_MOST];
    struct pci_link now, most, slot;
    bool has_most = pci_link_read(look->sysfs, bus, "max", &most);
    bool has_slot = has_most && pci_slot(look->sysfs, bus, above) &&
                    pci_link_read(look->sysfs, above, "max", &slot);
    struct pci_link best = has_most ? most : (struct pci_link){0};
    if (has_slot && slot.width < best.width)
        best.width = slot.width;
    if (has_slot && slot.speed < best.speed)
        best.speed = slot.speed;
    if (pci_link_read(look->sysfs, bus, "current", &now)) {
        look_number(look, part, "pcie.width", now.width, best.width);
        look_number(look, part, "pcie.speed", now.speed, best.speed);
    }
    if (!has_slot)
        return;
    look_number(look, part, "pcie.slot_width", slot.width, most.width);
    look_number(look, part, "pcie.slot_speed", slot.speed, most.speed);
}

static void pcie_add(struct fact_look *look, const char *part, const char *bus)
{
    struct pci_errors errors;
    if (!bus[0])
        return;
    link_add(look, part, bus);
    if (!pci_errors_read(look->sysfs, bus, &errors))
        return;
    look_number(look, part, "aer.correctable", (double)errors.correctable, 0);
    look_number(look, part, "aer.nonfatal", (double)errors.nonfatal, 0);
    look_number(look, part, "aer.fatal", (double)errors.fatal, 0);
}

/* NICs: the ports of RDMA devices. */

const char *nic_part(const char *nic, int number, char part[PART_NAME_MOST])
{
    if (number == 1)
        snprintf(part, PART_NAME_MOST, "%s", nic);
    else
        snprintf(part, PART_NAME_MOST, "%.*s:%d", PART_NAME_MOST - 8, nic, number);
    return part;
}

/* "RoCE v1, RoCE v2": kinds of GIDs that the port has. */
static const char *gid_kinds(const struct rdma_port *port, char *words, size_t size)
{
    struct text text = text_in(words, size);
    for (int kind = 0; kind < GID_KINDS; kind++) {
        bool has = false;
        for (int i = 0; i < port->gid_count; i++)
            has |= (int)port->gids[i].kind == kind;
        if (has)
            text_add(&text, "%s%s", text.used ? ", " : "", gid_kind_names[kind]);
    }
    return words;
}

static void nic_add(void *context, const char *nic, int number)
{
    struct fact_look *look = context;
    char part[PART_NAME_MOST], bus[BUS_MOST], kinds[64];
    struct rdma_port *port = new_array(1, sizeof *port);
    nic_part(nic, number, part);
    rdma_nic_bus(look->sysfs, nic, bus);
    inquiry_asks(&look->inquiry, "NIC", part, bus);
    rdma_port_read(look->sysfs, nic, number, port);
    look->parts++;
    look_text(look, part, "state", port->state);
    if (port->rate > 0)
        look_number(look, part, "rate", port->rate, 0);
    look_text(look, part, "width", port->width);
    look_text(look, part, "link_layer", port->link_layer);
    look_text(look, part, "model", port->model);
    look_text(look, part, "firmware", port->firmware);
    look_text(look, part, "gids", gid_kinds(port, kinds, sizeof kinds));
    uint64_t mtu;
    const char *netdev = rdma_port_netdev(port);
    if (netdev[0] && sysfs_number(&mtu, "%s/class/net/%s/mtu", look->sysfs, netdev))
        look_number(look, part, "mtu", (double)mtu, 0);
    int node = bus[0] ? pci_numa_node(look->sysfs, bus) : -1;
    if (node >= 0)
        look_number(look, part, "numa_node", node, 0);
    pcie_add(look, part, bus);
    free(port);
}

void nic_facts(struct fact_look *look)
{
    rdma_ports_each(look->sysfs, nic_add, look);
}

/* Network interfaces. */

/* Its PCIe link belongs to a NIC already, if it is an RDMA NIC's interface. */
static bool is_nic(struct fact_look *look, const char *bus)
{
    char **nics, of_nic[BUS_MOST];
    bool is = false;
    int count = sysfs_names(&nics, "%s/class/infiniband", look->sysfs);
    for (int i = 0; i < count && !is && bus[0]; i++) {
        rdma_nic_bus(look->sysfs, nics[i], of_nic);
        is = strcmp(of_nic, bus) == 0;
    }
    sysfs_names_free(nics, count);
    return is;
}

/* Has it hardware? An interface without any is compared if it carries packets of Ethernet, and
 * joins no others: a bridge or a tunnel may be there on some hosts alone. */
static bool interface_is_compared(const struct fact_look *look, const char *netdev)
{
    char bridge[SYSFS_PATH_MOST], tunnel[SYSFS_PATH_MOST];
    uint64_t type = 0, carrier = 0;
    snprintf(bridge, sizeof bridge, "%s/class/net/%s/bridge", look->sysfs, netdev);
    snprintf(tunnel, sizeof tunnel, "%s/class/net/%s/tun_flags", look->sysfs, netdev);
    sysfs_number(&type, "%s/class/net/%s/type", look->sysfs, netdev);
    sysfs_number(&carrier, "%s/class/net/%s/carrier", look->sysfs, netdev);
    return interface_is_hardware(look->sysfs, netdev) ||
           (type == ARPHRD_ETHER && carrier == 1 && access(bridge, F_OK) != 0 &&
            access(tunnel, F_OK) != 0);
}

static void interface_add(struct fact_look *look, const char *netdev)
{
    char text[VALUE_TEXT_MOST], path[SYSFS_PATH_MOST], real[PATH_MAX], bus[BUS_MOST];
    uint64_t number;
    snprintf(path, sizeof path, "%s/class/net/%s/device", look->sysfs, netdev);
    pci_of_path(path, bus);
    inquiry_asks(&look->inquiry, "network interface", netdev, bus);
    look->parts++;
    if (sysfs_text(text, sizeof text, "%s/class/net/%s/operstate", look->sysfs, netdev))
        look_text(look, netdev, "state", text);
    bool hardware =
        interface_is_hardware(look->sysfs, netdev); /* a veth says that it has 10 Gb/s */
    /* Mb/s; some drivers say -1 for unknown, and others 4294967295. */
    if (hardware && sysfs_number(&number, "%s/class/net/%s/speed", look->sysfs, netdev) &&
        number > 0 && number < INT_MAX)
        look_number(look, netdev, "speed", (double)number / 1000, 0);
    if (hardware && sysfs_text(text, sizeof text, "%s/class/net/%s/duplex", look->sysfs, netdev) &&
        strcmp(text, "unknown") != 0)
        look_text(look, netdev, "duplex", text);
    if (sysfs_number(&number, "%s/class/net/%s/mtu", look->sysfs, netdev))
        look_number(look, netdev, "mtu", (double)number, 0);
    snprintf(path, sizeof path, "%s/class/net/%s/device/driver", look->sysfs, netdev);
    if (realpath(path, real))
        look_text(look, netdev, "driver", strrchr(real, '/') + 1);
    if (look->source.firmware && look->source.firmware(netdev, text, sizeof text))
        look_text(look, netdev, "firmware", text);
    if (!is_nic(look, bus))
        pcie_add(look, netdev, bus);
}

void interface_facts(struct fact_look *look)
{
    char **names;
    int count = interfaces_find(look->sysfs, &names);
    for (int i = 0; i < count; i++)
        if (interface_is_compared(look, names[i]))
            interface_add(look, names[i]);
    sysfs_names_free(names, count);
}

/* GPUs. */

/* "SM clock at most" is the key "sm_clock_at_most". */
static void key_of(const char *name, char key[FACT_NAME_MOST])
{
    int i = 0;
    for (; name[i] && i < FACT_NAME_MOST - 1; i++)
        key[i] = name[i] == ' ' ? '_' : (char)tolower((unsigned char)name[i]);
    key[i] = '\0';
}

/* Adds what NVML says in words, "80.0 GiB", "700 W", as a number in the rule's unit. */
static void gpu_fact_add(struct fact_look *look, const char *bus, const struct fact *fact)
{
    char key[FACT_NAME_MOST];
    key_of(fact->name, key);
    const struct fact_rule *rule = fact_rule_find(PART_GPU, key);
    if (!rule || fact->scope == FACT_IDENTITY)
        return;
    double number = strtod(fact->text, NULL);
    if (rule->unit == VALUE_TEXT)
        look_text(look, bus, key, fact->text);
    else if (number >= 0)
        look_number(look, bus, key,
                    rule->unit == VALUE_BYTES ? number * (double)((uint64_t)1 << 30) : number, 0);
}

static void gpu_counts_add(struct fact_look *look, const char *bus)
{
    struct counter_list list = {0};
    struct meter *meter = gpu_meter_open(bus);
    if (!meter)
        return;
    meter->read(meter, &list);
    meter->read(meter, &list); /* what lasts until a reset is told from the second time on */
    meter->close(meter);
    for (int i = 0; i < list.count; i++) {
        const struct fact_rule *rule = fact_rule_find(PART_GPU, list.counters[i].name);
        if (rule && rule->comparison == COMPARE_ZERO)
            look_number(look, bus, rule->key, (double)list.counters[i].value, 0);
    }
    counter_list_free(&list);
}

/* NVML, where it is, has most facts; without a driver, PCI still shows the GPUs. */
void gpu_facts(struct fact_look *look)
{
    struct device_list list = {.inquiry = &look->inquiry}, seen = {.inquiry = &look->inquiry};
    pci_gpus(look->sysfs, &seen);
    if (look->source.asks_nvml)
        gpus_add(&list);
    for (int i = 0; i < list.count; i++) {
        const struct device *gpu = &list.devices[i];
        for (int f = 0; f < gpu->fact_count; f++)
            gpu_fact_add(look, gpu->bus, &gpu->facts[f]);
        gpu_counts_add(look, gpu->bus);
        look->parts++;
    }
    for (int i = 0; i < seen.count; i++) {
        const char *bus = seen.devices[i].bus;
        bool asked = device_is_listed(&list, bus);
        look->parts += !asked;
        if (!asked && look->source.asks_nvml)
            look_text(look, bus, "nvml", "missing");
        pcie_add(look, bus, bus);
    }
    device_list_free(&list);
    device_list_free(&seen);
}

/* NVMe drives. */

void drive_facts(struct fact_look *look)
{
    char **names;
    int count = sysfs_names(&names, "%s/class/nvme", look->sysfs);
    for (int i = 0; i < count; i++) {
        char text[VALUE_TEXT_MOST], path[SYSFS_PATH_MOST], bus[BUS_MOST];
        snprintf(path, sizeof path, "%s/class/nvme/%s/device", look->sysfs, names[i]);
        pci_of_path(path, bus);
        inquiry_asks(&look->inquiry, "drive", names[i], bus);
        look->parts++;
        if (sysfs_text(text, sizeof text, "%s/class/nvme/%s/model", look->sysfs, names[i]))
            look_text(look, names[i], "model", text);
        if (sysfs_text(text, sizeof text, "%s/class/nvme/%s/firmware_rev", look->sysfs, names[i]))
            look_text(look, names[i], "firmware", text);
        pcie_add(look, names[i], bus);
    }
    sysfs_names_free(names, count);
}
