/*
 * nearness.c - which of several PCI devices are nearest to the cores of a thread.
 *
 * The distance is the size of the smallest part of the machine that holds both the thread's CPUs
 * and the CPUs beside the device: a cache's cores, a NUMA node, a socket, the machine. Where the
 * firmware tells how far NUMA nodes are apart, that decides among parts of one size.
 */
#include "host/host.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <stdbool.h>

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
