/*
 * host_trees.h - the made-up trees of sysfs and proc of eight equal hosts, and their inventories.
 */
#ifndef CCTEST_TEST_HOST_TREES_H
#define CCTEST_TEST_HOST_TREES_H

#include "base/log.h" /* before cmocka, which has a macro fail() */

#include "tree.h"

#include "host/facts/facts.h"
#include "accept/judge/judge.h"

#define HOSTS 8

static const char *const names[HOSTS] = {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"};
static struct inventory inventories[HOSTS];
static struct inventory_host hosts[HOSTS];

/* A device in a slot, both with a link of PCIe 5.0 x16. */
static inline void device_make(const char *host, const char *bus, int number)
{
    char slot[128], device[192], link[128], target[256];
    snprintf(slot, sizeof slot, "%s/sys/devices/pci0000:%02d/0000:%02d:01.0", host, number, number);
    snprintf(device, sizeof device, "%s/%s", slot, bus);
    const char *const folders[] = {slot, device};
    for (int i = 0; i < 2; i++) {
        file_of("current_link_speed", folders[i], "32.0 GT/s PCIe\n");
        file_of("current_link_width", folders[i], "16\n");
        file_of("max_link_speed", folders[i], "32.0 GT/s PCIe\n");
        file_of("max_link_width", folders[i], "16\n");
        snprintf(link, sizeof link, "%s/sys/bus/pci/devices/%s", host,
                 strrchr(folders[i], '/') + 1);
        snprintf(target, sizeof target, "%s", folders[i]);
        link_make(link, target);
    }
    file_of("numa_node", device, "0\n");
    file_of("aer_dev_correctable", device, "RxErr 0\nTOTAL_ERR_COR 0\n");
    file_of("aer_dev_fatal", device, "Undefined 0\nTOTAL_ERR_FATAL 0\n");
}

static inline void nic_make(const char *host, int number)
{
    char bus[16], folder[128], link[160], target[160];
    snprintf(bus, sizeof bus, "0000:%02d:00.0", 10 + number);
    device_make(host, bus, 10 + number);
    snprintf(folder, sizeof folder, "%s/sys/class/infiniband/mlx5_%d", host, number);
    file_of("node_type", folder, "1: CA\n");
    file_of("hca_type", folder, "MT4129\n");
    file_of("fw_ver", folder, "28.39.1002\n");
    file_of("ports/1/state", folder, "4: ACTIVE\n");
    file_of("ports/1/rate", folder, "400 Gb/sec (4X NDR)\n");
    file_of("ports/1/link_layer", folder, "Ethernet\n");
    file_of("ports/1/gids/0", folder, "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
    file_of("ports/1/gid_attrs/types/0", folder, "RoCE v2\n");
    file_of("ports/1/gid_attrs/ndevs/0", folder, number == 0 ? "eth0\n" : "eth1\n");
    snprintf(link, sizeof link, "%s/device", folder);
    snprintf(target, sizeof target, "%s/sys/bus/pci/devices/%s", host, bus);
    link_make(link, target);
}

static inline void interface_make(const char *host, const char *name, int number)
{
    char folder[128], link[160], target[160];
    snprintf(folder, sizeof folder, "%s/sys/class/net/%s", host, name);
    file_of("operstate", folder, "up\n");
    file_of("speed", folder, "400000\n");
    file_of("duplex", folder, "full\n");
    file_of("mtu", folder, "9000\n");
    snprintf(link, sizeof link, "%s/device", folder);
    snprintf(target, sizeof target, "%s/sys/bus/pci/devices/0000:%02d:00.0", host, 10 + number);
    link_make(link, target);
}

static inline void gpu_make(const char *host, int number)
{
    char bus[16], folder[128];
    snprintf(bus, sizeof bus, "0000:%02d:00.0", 20 + number);
    device_make(host, bus, 20 + number);
    snprintf(folder, sizeof folder, "%s/sys/bus/pci/devices/%s", host, bus);
    file_of("vendor", folder, "0x10de\n");
    file_of("class", folder, "0x030200\n");
    file_of("current_link_speed", folder, "2.5 GT/s PCIe\n"); /* it is idle */
}

static inline void host_make(const char *host)
{
    file_of("proc/cpuinfo", host, "processor\t: 0\nmodel name\t: Some CPU 9654\n");
    file_of("proc/meminfo", host,
            "MemTotal: 2113536000 kB\nMemAvailable: 2000000000 kB\n"
            "HugePages_Total:    0\n");
    file_of("proc/sys/kernel/osrelease", host, "6.1.0\n");
    file_of("proc/self/limits", host,
            "Limit  Soft Limit  Hard Limit  Units\n"
            "Max open files  65536  65536  files\n"
            "Max locked memory  unlimited  unlimited  bytes\n");
    file_of("etc/os-release", host, "NAME=x\nPRETTY_NAME=\"Some Linux 12\"\n");
    file_of("sys/module/mlx5_core/version", host, "24.04\n");
    file_of("sys/kernel/mm/transparent_hugepage/enabled", host, "always [madvise] never\n");
    file_of("sys/devices/system/edac/mc/mc0/ue_count", host, "0\n");
    file_of("sys/devices/system/edac/mc/mc0/ce_count", host, "0\n");
    file_of("sys/devices/system/edac/mc/mc1/ue_count", host, "0\n");
    file_of("sys/devices/system/edac/mc/mc1/ce_count", host, "0\n");
    for (int i = 0; i < 4; i++) {
        char folder[64];
        snprintf(folder, sizeof folder, "%s/sys/devices/system/cpu/cpu%d", host, i);
        file_of("topology/thread_siblings_list", folder, i % 2 ? "1,3\n" : "0,2\n");
        file_of("topology/core_siblings_list", folder, "0-3\n");
        file_of("cpufreq/scaling_governor", folder, "performance\n");
        file_of("cpufreq/scaling_max_freq", folder, "3700000\n");
        file_of("cpufreq/cpuinfo_max_freq", folder, "3700000\n");
        file_of("thermal_throttle/core_throttle_count", folder, "0\n");
        snprintf(folder, sizeof folder, "%s/sys/devices/system/node/node%d", host, i / 2);
        file_of("meminfo", folder, "Node 0 MemTotal:  1056768000 kB\n");
    }
    for (int i = 0; i < 2; i++)
        nic_make(host, i);
    interface_make(host, "eth0", 0);
    interface_make(host, "eth1", 1);
    file_of("sys/class/net/veth1234/mtu", host, "1500\n"); /* no fact */
    for (int i = 0; i < 2; i++)
        gpu_make(host, i);
}

static inline struct inventory_source source_of(int host)
{
    static char root[PATH_MAX + 8];
    snprintf(root, sizeof root, "%s/%s", tree, names[host]);
    return (struct inventory_source){.root = root, .host = names[host], .patience = 5};
}

static inline void host_collect(int host)
{
    const struct inventory_source source = source_of(host);
    inventory_free(&inventories[host]);
    inventory_collect(&source, &inventories[host]);
    hosts[host] = (struct inventory_host){.name = names[host], .inventory = &inventories[host]};
}

/* For cmocka. */
static inline int trees_make(void **state)
{
    (void)state;
    tree_begin();
    for (int i = 0; i < HOSTS; i++)
        host_make(names[i]);
    for (int i = 0; i < HOSTS; i++)
        host_collect(i);
    return 0;
}

static inline int trees_remove(void **state)
{
    for (int i = 0; i < HOSTS; i++)
        inventory_free(&inventories[i]);
    return tree_remove(state);
}

#endif
