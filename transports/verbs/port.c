/*
 * port.c - the facts of RDMA ports, read from sysfs.
 *
 *     /sys/class/infiniband/mlx5_0/     hca_type, fw_ver, node_type, device -> the PCI device
 *         ports/1/                      state, phys_state, rate, link_layer, lid, pkeys/
 *             gids/, gid_attrs/         the GID table (gid_table.c)
 *             counters/, hw_counters/   port_counters.c
 *     /sys/class/infiniband_verbs/uverbs0/ibdev   the NIC behind /dev/infiniband/uverbs0
 */
#include "transports/verbs/port.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "device/inquiry.h"
#include "device/nearness.h"
#include "device/pci.h"
#include "transports/verbs/gdr.h"
#include "transports/verbs/gid_table.h"

/* A port that is being described. */
struct port_look {
    const struct port_source *source;
    const char *nic;
    int port;
    char folder[SYSFS_PATH_MOST]; /* ".../class/infiniband/mlx5_0" */
    char node_type[32];           /* "CA", "RNIC" */
    char link_layer[32];          /* "InfiniBand", "Ethernet" */
    char state[32], physical[32]; /* "ACTIVE", "LinkUp" */
    struct gid_entry gids[GID_TABLE_MOST];
    int gid_count;
};

/* What follows "4: " in "4: ACTIVE"; "" if there is no such text. */
static void word_read(const struct port_look *look, const char *file, char word[32])
{
    char text[64];
    sysfs_text(text, sizeof text, "%s/%s", look->folder, file);
    const char *colon = strstr(text, ": ");
    snprintf(word, 32, "%s", colon ? colon + 2 : "");
}

static bool is_ethernet(const struct port_look *look)
{
    return strcmp(look->link_layer, "Ethernet") == 0;
}

static bool is_iwarp(const struct port_look *look)
{
    return strcmp(look->node_type, "RNIC") == 0;
}

/* The network device of the first GID that has one. */
static const char *port_netdev(const struct port_look *look)
{
    for (int i = 0; i < look->gid_count; i++)
        if (look->gids[i].netdev[0])
            return look->gids[i].netdev;
    return "";
}

/* Usable, or why not. */

/* The number of the NIC's uverbs device; -1: it has none. */
static int uverbs_find(const struct port_look *look)
{
    char **names, nic[PORT_NIC_MOST];
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
    const char *netdev = port_netdev(look);
    if (!look->state[0])
        text_add(why, "its state cannot be read");
    else if (strcmp(look->state, "ACTIVE") == 0)
        return;
    else if (strcmp(look->state, "INIT") == 0 || strcmp(look->state, "ARMED") == 0)
        text_add(why, "state %s: no subnet manager has made it active; start one (opensm)",
                 look->state);
    else if (is_ethernet(look) && strcmp(look->physical, "LinkUp") != 0)
        text_add(why,
                 "state %s, physical state %s: set its network device up (ip link set %s up), "
                 "then look at the cable",
                 look->state, look->physical, netdev[0] ? netdev : "NETDEV");
    else
        text_add(why, "state %s, physical state %s: look at the cable and the switch's port",
                 look->state, look->physical[0] ? look->physical : "unknown");
}

static void gids_check(const struct port_look *look, struct text *why)
{
    const char *netdev = port_netdev(look);
    if (!is_ethernet(look) || is_iwarp(look))
        return;
    for (int i = 0; i < look->gid_count; i++)
        if (look->gids[i].kind == GID_KIND_ROCE_V2 && gid_is_ipv4(look->gids[i].raw))
            return;
    text_add(why,
             "no GID of RoCE v2 maps an IPv4 address: give its network device one (ip addr add ... "
             "dev %s), or choose another GID with gid=INDEX",
             netdev[0] ? netdev : "NETDEV");
}

static void port_check(const struct port_look *look, struct device *device)
{
    struct text why = text_in(device->why_not, sizeof device->why_not);
    bool has_connections = strcmp(look->node_type, "CA") == 0 || is_iwarp(look);
    if (look->source->library)
        text_add(&why, "%s", look->source->library);
    if (!why.used && !has_connections)
        text_add(&why, "its type (%s) has no reliable connections",
                 look->node_type[0] ? look->node_type : "unknown");
    if (!why.used)
        state_check(look, &why);
    if (!why.used)
        gids_check(look, &why);
    if (!why.used)
        uverbs_check(look, &why);
    device->usable = why.used == 0;
}

/* Facts. */

/* "400 Gb/sec (4X NDR)" */
static void rate_describe(const struct port_look *look, struct device_list *list,
                          struct device *device)
{
    char text[64], width[16];
    double rate;
    sysfs_text(text, sizeof text, "%s/ports/%d/rate", look->folder, look->port);
    if (sscanf(text, "%lf Gb/sec (%15[0-9X]", &rate, width) == 2 && rate > 0) {
        device_fact(list, device, FACT_ALL, "rate", "%g Gb/s", rate);
        device_fact(list, device, FACT_ALL, "width", "%s", width);
    } else {
        device_fact(list, device, FACT_ALL, "rate", "%s", text);
    }
}

static void mtu_describe(const struct port_look *look, struct device_list *list,
                         struct device *device)
{
    const struct port_source *source = look->source;
    const char *netdev = port_netdev(look);
    int mtu = source->mtu && !source->library ? source->mtu(look->nic, look->port) : 0;
    uint64_t bytes;
    if (mtu > 0)
        device_fact(list, device, FACT_ALL, "MTU", "%d", mtu);
    if (!is_ethernet(look) || !netdev[0])
        return;
    device_fact(list, device, FACT_SHOWN, "network device", "%s", netdev);
    if (sysfs_number(&bytes, "%s/class/net/%s/mtu", source->sysfs, netdev))
        device_fact(list, device, FACT_ALL, "network device MTU", "%llu",
                    (unsigned long long)bytes);
}

/* The P_Keys that are set. */
static void pkeys_describe(const struct port_look *look, struct device_list *list,
                           struct device *device)
{
    char **names, keys[FACT_TEXT_MOST];
    struct text text = text_in(keys, sizeof keys);
    int count = sysfs_names(&names, "%s/ports/%d/pkeys", look->folder, look->port);
    for (int i = 0; i < count; i++) {
        uint64_t key;
        if (sysfs_number(&key, "%s/ports/%d/pkeys/%s", look->folder, look->port, names[i]) && key)
            text_add(&text, "%s%s: 0x%04x", text.used ? ", " : "", names[i], (unsigned)key);
    }
    sysfs_names_free(names, count);
    device_fact(list, device, FACT_SHOWN, "P_Keys", "%s", keys);
}

static void gids_describe(const struct port_look *look, struct device_list *list,
                          struct device *device)
{
    for (int i = 0; i < look->gid_count; i++) {
        const struct gid_entry *gid = &look->gids[i];
        char name[FACT_NAME_MOST], text[64];
        snprintf(name, sizeof name, "GID %d", gid->index);
        device_fact(list, device, FACT_SHOWN, name, "%s, %s%s%s",
                    gid_text(gid->raw, text, sizeof text), gid_kind_names[gid->kind],
                    gid->netdev[0] ? ", " : "", gid->netdev);
    }
}

static void port_describe(const struct port_look *look, struct device_list *list,
                          struct device *device)
{
    char text[64];
    device_fact(list, device, FACT_SHOWN, "state", "%s", look->state);
    if (strcmp(look->physical, "LinkUp") != 0)
        device_fact(list, device, FACT_SHOWN, "physical state", "%s", look->physical);
    rate_describe(look, list, device);
    device_fact(list, device, FACT_ALL, "link layer", "%s", look->link_layer);
    mtu_describe(look, list, device);
    sysfs_text(text, sizeof text, "%s/fw_ver", look->folder);
    device_fact(list, device, FACT_MODEL, "firmware", "%s", text);
    pci_describe(look->source->sysfs, list, device);
    if (!is_ethernet(look) &&
        sysfs_text(text, sizeof text, "%s/ports/%d/lid", look->folder, look->port))
        device_fact(list, device, FACT_SHOWN, "LID", "%s", text);
    pkeys_describe(look, list, device);
    gids_describe(look, list, device);
}

static void nic_bus(const char *sysfs, const char *nic, char *bus)
{
    char path[SYSFS_PATH_MOST], netdev[32];
    snprintf(path, sizeof path, "%s/class/infiniband/%s/device", sysfs, nic);
    if (pci_of_path(path, bus))
        return;
    /* rxe and siw name the network device that they stand on. */
    if (!sysfs_text(netdev, sizeof netdev, "%s/class/infiniband/%s/parent", sysfs, nic))
        return;
    snprintf(path, sizeof path, "%s/class/net/%s/device", sysfs, netdev);
    pci_of_path(path, bus);
}

struct device *port_add(const struct port_source *source, const char *nic, int port,
                        struct device_list *list)
{
    char name[DEVICE_NAME_MOST], file[64];
    snprintf(name, sizeof name, "%s:%d", nic, port);
    struct device *device = device_add(list, "port", name);
    struct port_look *look = calloc(1, sizeof *look);
    if (!device || !look) {
        list->failed = true;
        free(look);
        return NULL;
    }
    *look = (struct port_look){.source = source, .nic = nic, .port = port};
    nic_bus(source->sysfs, nic, device->bus);
    inquiry_asks(list->inquiry, device->kind, name, device->bus);
    snprintf(look->folder, sizeof look->folder, "%s/class/infiniband/%s", source->sysfs, nic);
    word_read(look, "node_type", look->node_type);
    snprintf(file, sizeof file, "ports/%d/state", port);
    word_read(look, file, look->state);
    snprintf(file, sizeof file, "ports/%d/phys_state", port);
    word_read(look, file, look->physical);
    sysfs_text(look->link_layer, sizeof look->link_layer, "%s/ports/%d/link_layer", look->folder,
               port);
    look->gid_count = gid_table_read(source->sysfs, nic, port, look->gids, GID_TABLE_MOST);
    sysfs_text(device->model, sizeof device->model, "%s/hca_type", look->folder);
    port_describe(look, list, device);
    port_check(look, device);
    if (device->usable && source->imports_dmabuf)
        gdr_describe(source->sysfs, source->proc, source->imports_dmabuf(nic), list, device);
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

void ports_add(const struct port_source *source, struct device_list *list)
{
    char **nics, **ports, *end;
    int nic_count = sysfs_names(&nics, "%s/class/infiniband", source->sysfs);
    for (int i = 0; i < nic_count; i++) {
        int count = sysfs_names(&ports, "%s/class/infiniband/%s/ports", source->sysfs, nics[i]);
        for (int p = 0; p < count; p++) {
            long port = strtol(ports[p], &end, 10);
            if (port >= 1 && port <= 255 && !*end && strlen(nics[i]) < PORT_NIC_MOST)
                port_add(source, nics[i], (int)port, list);
        }
        sysfs_names_free(ports, count);
    }
    sysfs_names_free(nics, nic_count);
}

bool port_parse(const char *name, char nic[PORT_NIC_MOST], int *port)
{
    const char *colon = strrchr(name, ':');
    char *end;
    if (!colon || colon == name || colon - name >= PORT_NIC_MOST || strchr(name, '/') ||
        name[0] == '.' || !isdigit((unsigned char)colon[1]))
        return false;
    long number = strtol(colon + 1, &end, 10);
    memcpy(nic, name, (size_t)(colon - name));
    nic[colon - name] = 0;
    *port = (int)number;
    return number >= 1 && number <= 255 && !*end;
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
    char(*buses)[16] = calloc((size_t)count + 1, sizeof *buses);
    const char **list = calloc((size_t)count + 1, sizeof *list);
    for (int i = 0; i < count; i++) {
        distances[i] = NEARNESS_UNKNOWN;
        if (!buses || !list)
            continue;
        nic_bus(sysfs, nics[i], buses[i]);
        list[i] = buses[i];
    }
    bool placed = buses && list && device && device[0] &&
                  distances_to_device(sysfs, list, count, device, distances);
    if (buses && list && !placed)
        nearness_distances(list, count, NULL, distances);
    nearness_order(distances, count, order);
    free(list);
    free(buses);
}
