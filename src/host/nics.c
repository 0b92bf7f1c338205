/*
 * nics.c - the NICs of a host.
 */
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/text.h"

bool interface_is_hardware(const char *sysfs, const char *netdev)
{
    char device[SYSFS_PATH_MOST], function[SYSFS_PATH_MOST], bond[SYSFS_PATH_MOST];
    snprintf(device, sizeof device, "%s/class/net/%s/device", sysfs, netdev);
    snprintf(function, sizeof function, "%s/class/net/%s/device/physfn", sysfs, netdev);
    snprintf(bond, sizeof bond, "%s/class/net/%s/bonding", sysfs, netdev);
    return (access(device, F_OK) == 0 && access(function, F_OK) != 0) || access(bond, F_OK) == 0;
}

int interfaces_find(const char *sysfs, char ***names)
{
    int hardware = 0, kept = 0, count = sysfs_names(names, "%s/class/net", sysfs);
    for (int i = 0; i < count; i++)
        hardware += interface_is_hardware(sysfs, (*names)[i]);
    for (int i = 0; i < count; i++) {
        char *name = (*names)[i];
        if (hardware > 0 ? interface_is_hardware(sysfs, name) : strcmp(name, "lo") != 0)
            (*names)[kept++] = name;
        else
            free(name);
    }
    return kept;
}

struct nic_search {
    const char *sysfs;
    struct nic *nics;
    int count;
};

/* A name of an interface may have any bytes but a few; in JSON and on a terminal it may not. */
static void name_clean(char *name)
{
    for (; *name; name++)
        if (*name < ' ' || *name > '~')
            *name = '?';
}

static struct nic *nic_add(struct nic_search *search, const char *name)
{
    struct nic *nic = LIST_ADD(search->nics, search->count);
    snprintf(nic->name, sizeof nic->name, "%s", name);
    name_clean(nic->name);
    return nic;
}

/* Ports of a NIC follow each other. */
static void port_add(void *context, const char *name, int number)
{
    struct nic_search *search = context;
    struct nic *last = search->count ? &search->nics[search->count - 1] : NULL;
    struct nic *nic = last && strcmp(last->name, name) == 0 ? last : nic_add(search, name);
    struct rdma_port port;
    nic->is_rdma = true;
    rdma_nic_bus(search->sysfs, name, nic->bus);
    rdma_port_read(search->sysfs, name, number, &port);
    nic->is_up |= strcmp(port.state, "ACTIVE") == 0;
}

static void interface_add(struct nic_search *search, const char *name)
{
    char path[SYSFS_PATH_MOST], bus[16], state[32];
    snprintf(path, sizeof path, "%s/class/net/%s/device", search->sysfs, name);
    pci_of_path(path, bus);
    for (int i = 0; i < search->count && bus[0]; i++) {
        struct nic *nic = &search->nics[i];
        if (!nic->is_rdma || strcmp(nic->bus, bus) != 0)
            continue;
        struct text text = text_after(nic->interfaces, sizeof nic->interfaces);
        text_add(&text, "%s%s", text.used ? ", " : "", name);
        name_clean(nic->interfaces);
        return;
    }
    struct nic *nic = nic_add(search, name);
    memcpy(nic->bus, bus, sizeof nic->bus);
    sysfs_text(state, sizeof state, "%s/class/net/%s/operstate", search->sysfs, name);
    nic->is_up = strcmp(state, "up") == 0;
}

int nics_find(const char *sysfs, struct nic **nics)
{
    struct nic_search search = {.sysfs = sysfs};
    char **names;
    rdma_ports_each(sysfs, port_add, &search);
    int count = sysfs_names(&names, "%s/class/net", sysfs);
    for (int i = 0; i < count; i++)
        if (interface_is_hardware(sysfs, names[i]))
            interface_add(&search, names[i]);
    sysfs_names_free(names, count);
    *nics = search.nics;
    return search.count;
}
