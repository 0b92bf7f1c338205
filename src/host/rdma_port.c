/*
 * rdma_port.c - what sysfs says of a port of an RDMA NIC.
 *
 *     /sys/class/infiniband/mlx5_0/     hca_type, fw_ver, node_type, device -> the PCI device
 *         ports/1/                      state, phys_state, rate, link_layer
 *             gids/, gid_attrs/         the GID table (gid_table.c)
 *             counters/, hw_counters/   port_counters.c
 */
#include "host/host.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* What follows "4: " in "4: ACTIVE"; "" if there is no such text. */
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
