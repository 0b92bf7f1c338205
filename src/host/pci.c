/*
 * pci.c - where a device stands in the PCI hierarchy, and how fast its link is.
 *
 * The kernel's path of a device names all bridges above it:
 *
 *     /sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0
 *                  host bridge     root port    device
 */
#include "host/host.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_NVIDIA 0x10de
#define CLASS_VGA     0x0300
#define CLASS_3D      0x0302

#define AER_BYTES_MOST ((size_t)1 << 14)

const char *const pci_distance_names[PCI_DISTANCES] = {"same", "PIX", "PXB",    "PHB",
                                                       "NODE", "SYS", "unknown"};

/* Is this the address of a PCI function, "0000:3b:00.0"? */
static bool bus_is_valid(const char *text, size_t length)
{
    unsigned domain, bus, device, function;
    char copy[16], trailing;
    if (length < 12 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    return sscanf(copy, "%4x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &trailing) == 4;
}

bool pci_of_path(const char *path, char *bus)
{
    char real[PATH_MAX];
    bus[0] = 0;
    if (!realpath(path, real))
        return false;
    for (char *slash; (slash = strrchr(real, '/')); *slash = 0) {
        size_t length = strlen(slash + 1);
        if (!bus_is_valid(slash + 1, length))
            continue;
        memcpy(bus, slash + 1, length + 1);
        return true;
    }
    return false;
}

int pci_numa_node(const char *sysfs, const char *bus)
{
    uint64_t node;
    return sysfs_number(&node, "%s/bus/pci/devices/%s/numa_node", sysfs, bus) && node < INT_MAX
               ? (int)node
               : -1;
}

bool pci_cpus(const char *sysfs, const char *bus, cpu_set_t *cpus)
{
    char text[SYSFS_PATH_MOST], *at = text;
    CPU_ZERO(cpus);
    if (!sysfs_text(text, sizeof text, "%s/bus/pci/devices/%s/local_cpulist", sysfs, bus))
        return false;
    while (*at) { /* "0-15,32-47" */
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (end == at || first < 0)
            return false;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((size_t)cpu, cpus);
        at = *end == ',' ? end + 1 : end;
    }
    return CPU_COUNT(cpus) > 0;
}

#define BRIDGES "/devices/pci" /* where the real paths of devices pass a host bridge */

int pci_chain(const char *sysfs, const char *bus, char chain[PCI_CHAIN_MOST][16])
{
    char path[SYSFS_PATH_MOST], real[PATH_MAX], *rest = NULL;
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s", sysfs, bus);
    char *host = bus[0] && realpath(path, real) ? strstr(real, BRIDGES) : NULL;
    if (!host)
        return 0;
    int count = 0;
    for (char *address = strtok_r(host + strlen(BRIDGES), "/", &rest); address;
         address = strtok_r(NULL, "/", &rest)) {
        if (count == PCI_CHAIN_MOST || strlen(address) >= sizeof chain[0] ||
            (count && !bus_is_valid(address, strlen(address))))
            return 0;
        memcpy(chain[count++], address, strlen(address) + 1);
    }
    return count;
}

uint32_t pci_number(const char *address)
{
    unsigned domain = 0, bus = 0, device = 0, function = 0;
    sscanf(address, "%4x:%2x:%2x.%1x", &domain, &bus, &device, &function);
    return domain << 16 | bus << 8 | device << 3 | function;
}

/* Above a device below a switch stand its port of the switch, and the switch's own port upwards. */
struct host_place pci_place(const char *sysfs, const char *bus)
{
    char chain[PCI_CHAIN_MOST][16];
    struct host_place place = host_place_unknown();
    int count = pci_chain(sysfs, bus, chain), node = pci_numa_node(sysfs, bus);
    if (count < 2)
        return place;
    place.at[PCI_SAME] = pci_number(chain[count - 1]);
    place.at[PCI_PIX] = pci_number(chain[count > 4 ? count - 3 : 1]);
    place.at[PCI_PXB] = pci_number(chain[1]);
    place.at[PCI_PHB] = pci_number(chain[0]);
    place.at[PCI_NODE] = node < 0 ? PLACE_UNKNOWN : (uint32_t)node;
    return place;
}

enum pci_distance pci_distance(const char *sysfs, const char *bus, const char *other)
{
    struct host_place a = pci_place(sysfs, bus), b = pci_place(sysfs, other);
    if (a.at[PCI_SAME] == PLACE_UNKNOWN || b.at[PCI_SAME] == PLACE_UNKNOWN)
        return PCI_UNKNOWN;
    int shared = host_place_shared(&a, &b);
    return shared < PCI_SYS ? (enum pci_distance)shared : PCI_SYS;
}

/* Extended capabilities: a list in configuration space, from 256 on. A header has the number of the
 * capability in its low 16 bits, and in its high 12 where the next one is. */
#define CONFIG_BYTES    4096
#define CONFIG_EXTENDED 256
#define CAPABILITY_ACS  0x000d
#define ACS_CONTROL     6 /* its offset in the capability */
#define ACS_REDIRECT    0x0004

static bool config_redirects(const unsigned char *config, size_t size)
{
    size_t at = CONFIG_EXTENDED;
    for (int i = 0; i < CONFIG_BYTES / 8 && at >= CONFIG_EXTENDED && at + 8 <= size; i++) {
        const unsigned char *head = config + at;
        if ((head[0] | head[1] << 8) == CAPABILITY_ACS)
            return (head[ACS_CONTROL] | head[ACS_CONTROL + 1] << 8) & ACS_REDIRECT;
        at = (size_t)(head[2] >> 4 | head[3] << 4) & ~(size_t)3;
    }
    return false;
}

static bool bridge_redirects(const char *sysfs, const char *bus)
{
    char path[SYSFS_PATH_MOST];
    unsigned char config[CONFIG_BYTES];
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/config", sysfs, bus);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(config, 1, sizeof config, file) : 0;
    if (file)
        fclose(file);
    return config_redirects(config, size);
}

bool pci_redirecting(const char *sysfs, const char *bus, char *bridge)
{
    char chain[PCI_CHAIN_MOST][16];
    int above = pci_chain(sysfs, bus, chain) - 2;
    while (above > 0 && !bridge_redirects(sysfs, chain[above]))
        above--;
    snprintf(bridge, sizeof chain[0], "%s", above > 0 ? chain[above] : "");
    return above > 0;
}

bool pci_slot(const char *sysfs, const char *bus, char *slot)
{
    char chain[PCI_CHAIN_MOST][16];
    int above = pci_chain(sysfs, bus, chain) - 2;
    snprintf(slot, sizeof chain[0], "%s", above > 0 ? chain[above] : "");
    return above > 0;
}

bool pci_link_read(const char *sysfs, const char *bus, const char *when, struct pci_link *link)
{
    char speed[32];
    uint64_t width;
    int behind = 0;
    *link = (struct pci_link){0};
    if (!sysfs_number(&width, "%s/bus/pci/devices/%s/%s_link_width", sysfs, bus, when) ||
        width == 0 || width > 64 ||
        !sysfs_text(speed, sizeof speed, "%s/bus/pci/devices/%s/%s_link_speed", sysfs, bus, when))
        return false;
    /* " PCIe" follows, by some kernels */
    bool known = sscanf(speed, "%lf GT/s%n", &link->speed, &behind) == 1 && behind > 0 &&
                 link->speed > 0 && link->speed < 10000;
    link->width = (int)width;
    return known;
}

bool pci_errors_read(const char *sysfs, const char *bus, struct pci_errors *errors)
{
    const struct {
        const char *file, *total;
        uint64_t *count;
    } files[] = {{"aer_dev_correctable", "TOTAL_ERR_COR", &errors->correctable},
                 {"aer_dev_nonfatal", "TOTAL_ERR_NONFATAL", &errors->nonfatal},
                 {"aer_dev_fatal", "TOTAL_ERR_FATAL", &errors->fatal}};
    bool reports = false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *text =
            sysfs_whole(AER_BYTES_MOST, "%s/bus/pci/devices/%s/%s", sysfs, bus, files[i].file);
        *files[i].count = 0;
        reports |= text && sysfs_number_behind(text, files[i].total, files[i].count);
        free(text);
    }
    return reports;
}

/* "x16 at 32.0 GT/s"; false: unknown. */
static bool link_text(char *text, size_t size, const char *sysfs, const char *bus, const char *when)
{
    struct pci_link link;
    if (!pci_link_read(sysfs, bus, when, &link))
        return false;
    snprintf(text, size, "x%d at %.1f GT/s", link.width, link.speed);
    return true;
}

void pci_describe(const char *sysfs, struct device *device)
{
    char text[64];
    if (!device->bus[0])
        return;
    device->numa_node = pci_numa_node(sysfs, device->bus);
    if (link_text(text, sizeof text, sysfs, device->bus, "current"))
        device_fact(device, FACT_ALL, "PCIe link", "%s", text);
    if (link_text(text, sizeof text, sysfs, device->bus, "max"))
        device_fact(device, FACT_SHOWN, "PCIe link at most", "%s", text);
}

static int addresses_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void pci_gpus(const char *sysfs, struct device_list *list)
{
    char **names;
    int count = sysfs_names(&names, "%s/bus/pci/devices", sysfs);
    if (count > 0) /* hexadecimal: 0000:22 is before 0000:2a */
        qsort(names, (size_t)count, sizeof *names, addresses_compare);
    for (int i = 0; i < count; i++) {
        uint64_t vendor, class, id;
        bool known = sysfs_number(&vendor, "%s/bus/pci/devices/%s/vendor", sysfs, names[i]) &&
                     sysfs_number(&class, "%s/bus/pci/devices/%s/class", sysfs, names[i]);
        if (!known || vendor != VENDOR_NVIDIA ||
            (class >> 8 != CLASS_VGA && class >> 8 != CLASS_3D))
            continue;
        struct device *gpu = device_add(list, "GPU", names[i]);
        if (bus_is_valid(names[i], strlen(names[i])))
            memcpy(gpu->bus, names[i], strlen(names[i]) + 1);
        if (sysfs_number(&id, "%s/bus/pci/devices/%s/device", sysfs, names[i]))
            snprintf(gpu->model, sizeof gpu->model, "10de:%04x", (unsigned)id);
        pci_describe(sysfs, gpu);
    }
    sysfs_names_free(names, count);
}

/*
 * The PCI devices, of several, that are nearest to the cores of a thread.
 *
 * The distance is the size of the smallest part of the machine that holds both the thread's CPUs
 * and the CPUs beside the device: a cache's cores, a NUMA node, a socket, the machine. Where the
 * firmware tells how far NUMA nodes are apart, that decides among parts of one size.
 */
#define NUMA_MOST 0xffff /* of a distance between two NUMA nodes */

/* The smallest distance between a NUMA node of one set of CPUs and one of the other; 0: it is not
 * known. */
static uint64_t numa_distance(hwloc_topology_t topology, hwloc_const_cpuset_t set,
                              hwloc_const_cpuset_t other)
{
    struct hwloc_distances_s *matrix = NULL;
    unsigned count = 1;
    uint64_t nearest = 0;
    if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &matrix, 0, 0) != 0 ||
        count < 1 || !matrix)
        return 0;
    for (unsigned i = 0; i < matrix->nbobjs; i++)
        for (unsigned j = 0; j < matrix->nbobjs; j++) {
            uint64_t value = matrix->values[i * matrix->nbobjs + j];
            if (matrix->objs[i] && matrix->objs[j] &&
                hwloc_bitmap_intersects(matrix->objs[i]->cpuset, set) &&
                hwloc_bitmap_intersects(matrix->objs[j]->cpuset, other) &&
                (nearest == 0 || value < nearest))
                nearest = value;
        }
    hwloc_distances_release(topology, matrix);
    return nearest < NUMA_MOST ? nearest : NUMA_MOST;
}

static uint64_t device_distance(hwloc_topology_t topology, hwloc_const_cpuset_t here,
                                const char *bus)
{
    hwloc_obj_t device = bus[0] ? hwloc_get_pcidev_by_busidstring(topology, bus) : NULL;
    hwloc_obj_t beside = device ? hwloc_get_non_io_ancestor_obj(topology, device) : NULL;
    hwloc_bitmap_t both = hwloc_bitmap_alloc();
    uint64_t distance = NEARNESS_UNKNOWN;
    if (beside && both && hwloc_bitmap_or(both, here, beside->cpuset) == 0) {
        hwloc_obj_t part = hwloc_get_obj_covering_cpuset(topology, both);
        if (part)
            distance = (uint64_t)hwloc_bitmap_weight(part->cpuset) * (NUMA_MOST + 1) +
                       numa_distance(topology, here, beside->cpuset);
    }
    hwloc_bitmap_free(both);
    return distance;
}

/* Loads this machine with its PCI devices, all of it: also what this process may not use. */
static bool topology_load(hwloc_topology_t *topology)
{
    if (hwloc_topology_init(topology) != 0)
        return false;
    hwloc_topology_set_io_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_flags(*topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(*topology) == 0)
        return true;
    hwloc_topology_destroy(*topology);
    return false;
}

void nearness_distances(const char *const *buses, int count, const cpu_set_t *cpus,
                        uint64_t *distances)
{
    hwloc_topology_t topology;
    cpu_set_t own;
    bool wanted = false;
    for (int i = 0; i < count; i++) {
        distances[i] = NEARNESS_UNKNOWN;
        wanted |= buses[i][0] != 0;
    }
    if (!cpus && sched_getaffinity(0, sizeof own, &own) != 0)
        return;
    if (!wanted || !topology_load(&topology))
        return;
    hwloc_bitmap_t here = hwloc_bitmap_alloc();
    if (here &&
        hwloc_cpuset_from_glibc_sched_affinity(topology, here, cpus ? cpus : &own, sizeof own) == 0)
        for (int i = 0; i < count; i++)
            distances[i] = device_distance(topology, here, buses[i]);
    hwloc_bitmap_free(here);
    hwloc_topology_destroy(topology);
}

void nearness_order(const uint64_t *distances, int count, int *order)
{
    for (int i = 0; i < count; i++) {
        int at = i;
        for (; at > 0 && distances[order[at - 1]] > distances[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}
