/*
 * port.c - the facts of RDMA ports, read from sysfs.
 *
 *     /sys/class/infiniband/mlx5_0/     host/rdma_port.c
 *         ports/1/                      likewise, and lid, pkeys/
 *     /sys/class/infiniband_verbs/uverbs0/ibdev   the NIC behind /dev/infiniband/uverbs0
 */
#include "transports/verbs/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/text.h"

/* A port that is being described. */
struct port_look {
    const struct port_source *source;
    const char *nic;
    int number;
    char folder[SYSFS_PATH_MOST]; /* ".../class/infiniband/mlx5_0/ports/1" */
    struct rdma_port port;
};

static bool is_ethernet(const struct port_look *look)
{
    return strcmp(look->port.link_layer, "Ethernet") == 0;
}

static bool is_iwarp(const struct port_look *look)
{
    return strcmp(look->port.node_type, "RNIC") == 0;
}

/* Usable, or why not. */

/* The number of the NIC's uverbs device; -1: it has none. */
static int uverbs_find(const struct port_look *look)
{
    char **names, nic[RDMA_NIC_MOST];
    int found = -1, count = sysfs_names(&names, "%s/class/infiniband_verbs", look->source->sysfs);
    for (int i = 0; i < count && found < 0; i++)
        if (sscanf(names[i], "uverbs%d", &found) != 1 || found < 0 ||
            !sysfs_text(nic, sizeof nic, "%s/class/infiniband_verbs/%s/ibdev", look->source->sysfs,
                        names[i]) ||
            strcmp(nic, look->nic) != 0)
            found = -1;
    sysfs_names_free(names, count);
    return found;
}

/* Opens the uverbs device: a container may show a device that it forbids. */
static void uverbs_check(const struct port_look *look, struct text *why)
{
    const char *dev = look->source->dev;
    int number = uverbs_find(look), fd = -1, error = 0;
    char path[SYSFS_PATH_MOST];
    if (number < 0) {
        text_add(why, "it has no uverbs device: load the kernel module ib_uverbs (modprobe "
                      "ib_uverbs)");
        return;
    }
    snprintf(path, sizeof path, "%s/uverbs%d", dev, number);
    if ((fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)) >= 0)
        close(fd);
    else
        error = errno;
    if (error == ENOENT)
        text_add(why, "%s is missing: give the container this device (--device=%s)", path, dev);
    else if (error == EACCES)
        text_add(
            why,
            "no permission for %s: let this user read and write it (rdma-core's udev rules do)",
            path);
    else if (error == EPERM)
        text_add(why, "the container forbids %s: give it this device (--device=%s)", path, dev);
    else if (error)
        text_add(why, "%s cannot be opened (%s): look at the driver's messages (dmesg)", path,
                 strerror(error));
}

static void state_check(const struct port_look *look, struct text *why)
{
    const char *netdev = rdma_port_netdev(&look->port);
    if (!look->port.state[0])
        text_add(why, "its state cannot be read");
    else if (strcmp(look->port.state, "ACTIVE") == 0)
        return;
    else if (strcmp(look->port.state, "INIT") == 0 || strcmp(look->port.state, "ARMED") == 0)
        text_add(why, "state %s: no subnet manager has made it active; start one (opensm)",
                 look->port.state);
    else if (is_ethernet(look) && strcmp(look->port.physical, "LinkUp") != 0)
        text_add(why,
                 "state %s, physical state %s: set its network device up (ip link set %s up), "
                 "then look at the cable",
                 look->port.state, look->port.physical, netdev[0] ? netdev : "NETDEV");
    else
        text_add(why, "state %s, physical state %s: look at the cable and the switch's port",
                 look->port.state, look->port.physical[0] ? look->port.physical : "unknown");
}

static void gids_check(const struct port_look *look, struct text *why)
{
    const char *netdev = rdma_port_netdev(&look->port);
    if (!is_ethernet(look) || is_iwarp(look))
        return;
    for (int i = 0; i < look->port.gid_count; i++)
        if (look->port.gids[i].kind == GID_KIND_ROCE_V2 && gid_is_ipv4(look->port.gids[i].raw))
            return;
    text_add(why,
             "no GID of RoCE v2 maps an IPv4 address: give its network device one (ip addr add ... "
             "dev %s), or choose another GID with gid=INDEX",
             netdev[0] ? netdev : "NETDEV");
}

static void port_check(const struct port_look *look, struct device *device)
{
    struct text why = text_in(device->why_not, sizeof device->why_not);
    bool has_connections = strcmp(look->port.node_type, "CA") == 0 || is_iwarp(look);
    if (look->source->library)
        text_add(&why, "%s", look->source->library);
    if (!why.used && !has_connections)
        text_add(&why, "its type (%s) has no reliable connections",
                 look->port.node_type[0] ? look->port.node_type : "unknown");
    if (!why.used)
        state_check(look, &why);
    if (!why.used)
        gids_check(look, &why);
    if (!why.used)
        uverbs_check(look, &why);
    device->usable = why.used == 0;
}

/* Facts. */

static void rate_describe(const struct port_look *look, struct device *device)
{
    const struct rdma_port *port = &look->port;
    if (port->rate > 0) {
        device_fact(device, FACT_ALL, "rate", "%g Gb/s", port->rate);
        device_fact(device, FACT_ALL, "width", "%s", port->width);
    } else {
        device_fact(device, FACT_ALL, "rate", "%s", port->rate_text);
    }
}

static void mtu_describe(const struct port_look *look, struct device *device)
{
    const struct port_source *source = look->source;
    const char *netdev = rdma_port_netdev(&look->port);
    int mtu = source->mtu && !source->library ? source->mtu(look->nic, look->number) : 0;
    uint64_t bytes;
    if (mtu > 0)
        device_fact(device, FACT_ALL, "MTU", "%d", mtu);
    if (!is_ethernet(look) || !netdev[0])
        return;
    device_fact(device, FACT_SHOWN, "network device", "%s", netdev);
    if (sysfs_number(&bytes, "%s/class/net/%s/mtu", source->sysfs, netdev))
        device_fact(device, FACT_ALL, "network device MTU", "%llu", (unsigned long long)bytes);
}

/* The P_Keys that are set. */
static void pkeys_describe(const struct port_look *look, struct device *device)
{
    char **names, keys[FACT_TEXT_MOST];
    struct text text = text_in(keys, sizeof keys);
    int count = sysfs_names(&names, "%s/pkeys", look->folder);
    for (int i = 0; i < count; i++) {
        uint64_t key;
        if (sysfs_number(&key, "%s/pkeys/%s", look->folder, names[i]) && key)
            text_add(&text, "%s%s: 0x%04x", text.used ? ", " : "", names[i], (unsigned)key);
    }
    sysfs_names_free(names, count);
    device_fact(device, FACT_SHOWN, "P_Keys", "%s", keys);
}

static void gids_describe(const struct port_look *look, struct device *device)
{
    for (int i = 0; i < look->port.gid_count; i++) {
        const struct gid_entry *gid = &look->port.gids[i];
        char name[FACT_NAME_MOST], text[64];
        snprintf(name, sizeof name, "GID %d", gid->index);
        device_fact(device, FACT_SHOWN, name, "%s, %s%s%s", gid_text(gid->raw, text, sizeof text),
                    gid_kind_names[gid->kind], gid->netdev[0] ? ", " : "", gid->netdev);
    }
}

static void port_describe(const struct port_look *look, struct device *device)
{
    char text[64];
    device_fact(device, FACT_SHOWN, "state", "%s", look->port.state);
    if (strcmp(look->port.physical, "LinkUp") != 0)
        device_fact(device, FACT_SHOWN, "physical state", "%s", look->port.physical);
    rate_describe(look, device);
    device_fact(device, FACT_ALL, "link layer", "%s", look->port.link_layer);
    mtu_describe(look, device);
    device_fact(device, FACT_MODEL, "firmware", "%s", look->port.firmware);
    pci_describe(look->source->sysfs, device);
    if (!is_ethernet(look) && sysfs_text(text, sizeof text, "%s/lid", look->folder))
        device_fact(device, FACT_SHOWN, "LID", "%s", text);
    pkeys_describe(look, device);
    gids_describe(look, device);
}

struct device *port_add(const struct port_source *source, const char *nic, int number,
                        struct device_list *list)
{
    char name[DEVICE_NAME_MOST];
    snprintf(name, sizeof name, "%s:%d", nic, number);
    struct device *device = device_add(list, "port", name);
    struct port_look *look = new_array(1, sizeof *look);
    *look = (struct port_look){.source = source, .nic = nic, .number = number};
    rdma_nic_bus(source->sysfs, nic, device->bus);
    inquiry_asks(list->inquiry, device->kind, name, device->bus);
    snprintf(look->folder, sizeof look->folder, "%s/class/infiniband/%s/ports/%d", source->sysfs,
             nic, number);
    rdma_port_read(source->sysfs, nic, number, &look->port);
    snprintf(device->model, sizeof device->model, "%s", look->port.model);
    port_describe(look, device);
    port_check(look, device);
    if (device->usable && source->imports_dmabuf)
        gdr_describe(source->sysfs, source->proc, source->imports_dmabuf(nic), device);
    free(look);
    return device;
}

bool ports_present(const char *sysfs)
{
    char **nics;
    int count = sysfs_names(&nics, "%s/class/infiniband", sysfs);
    sysfs_names_free(nics, count);
    return count > 0;
}

struct ports_adding {
    const struct port_source *source;
    struct device_list *list;
};

static void each_port_add(void *context, const char *nic, int number)
{
    const struct ports_adding *adding = context;
    port_add(adding->source, nic, number, adding->list);
}

void ports_add(const struct port_source *source, struct device_list *list)
{
    struct ports_adding adding = {.source = source, .list = list};
    rdma_ports_each(source->sysfs, each_port_add, &adding);
}

/* False: how far they are is unknown of all. */
static bool distances_to_device(const char *sysfs, const char *const *buses, int count,
                                const char *device, uint64_t *distances)
{
    bool known = false;
    for (int i = 0; i < count; i++) {
        enum pci_distance distance = pci_distance(sysfs, buses[i], device);
        distances[i] = distance == PCI_UNKNOWN ? NEARNESS_UNKNOWN : (uint64_t)distance;
        known |= distance != PCI_UNKNOWN;
    }
    return known;
}

void ports_by_nearness(const char *sysfs, const char *const *nics, int count, const char *device,
                       int *order, uint64_t *distances)
{
    char(*buses)[16] = new_array((size_t)count + 1, sizeof *buses);
    const char **list = new_array((size_t)count + 1, sizeof *list);
    for (int i = 0; i < count; i++) {
        distances[i] = NEARNESS_UNKNOWN;
        rdma_nic_bus(sysfs, nics[i], buses[i]);
        list[i] = buses[i];
    }
    bool placed = device && device[0] && distances_to_device(sysfs, list, count, device, distances);
    if (!placed)
        nearness_distances(list, count, NULL, distances);
    nearness_order(distances, count, order);
    free(list);
    free(buses);
}
