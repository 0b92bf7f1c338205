/*
 * core_pairs.c - on which cores of this host two ranks are near to each other, and on which they are not.
 */
#include "predict/fit/fit.h"

#include <hwloc/glibc-sched.h>

#include "host/host.h"

/* The CPUs of a core that the process may use. False: none. */
static bool core_cpus(hwloc_topology_t topology, hwloc_obj_t core, const cpu_set_t *own,
                      cpu_set_t *cpus)
{
    return hwloc_cpuset_to_glibc_sched_affinity(topology, core->cpuset, cpus, sizeof *cpus) == 0 &&
           (CPU_AND(cpus, cpus, own), CPU_COUNT(cpus) > 0);
}

/* *first: the CPUs of the cache's first core. */
static void cache_add(hwloc_topology_t topology, hwloc_obj_t cache, const cpu_set_t *own,
                      struct core_pairs *pairs, cpu_set_t *first)
{
    int cores = 0;
    cpu_set_t cpus;
    for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_inside_cpuset_by_type(
                                       topology, cache->cpuset, HWLOC_OBJ_CORE, core));) {
        if (!core_cpus(topology, core, own, &cpus))
            continue;
        if (cores++ == 0)
            *first = cpus;
        if (cores == 2 && !pairs->has_near) {
            pairs->has_near = true;
            CPU_OR(&pairs->near, first, &cpus);
        }
    }
    pairs->caches += cores > 0;
    pairs->cache_cores = cores > pairs->cache_cores ? cores : pairs->cache_cores;
}

void core_pairs_find(struct core_pairs *pairs)
{
    hwloc_topology_t topology;
    cpu_set_t own;
    *pairs = (struct core_pairs){.caches = 0};
    if (sched_getaffinity(0, sizeof own, &own) == 0 && machine_load(&topology)) {
        bool third = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE) > 0;
        hwloc_obj_type_t type = third ? HWLOC_OBJ_L3CACHE : HWLOC_OBJ_PACKAGE;
        cpu_set_t first, last;
        for (hwloc_obj_t cache = NULL; (cache = hwloc_get_next_obj_by_type(topology, type, cache));)
            cache_add(topology, cache, &own, pairs, pairs->caches == 0 ? &first : &last);
        pairs->has_far = pairs->caches > 1;
        if (pairs->has_far)
            CPU_OR(&pairs->far, &first, &last);
        hwloc_topology_destroy(topology);
    }
    if (pairs->caches == 0)
        *pairs = (struct core_pairs){.caches = 1, .cache_cores = CPU_SETSIZE};
}
