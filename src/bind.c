/*
 * bind.c - binding by hwloc, which knows cores from hardware threads.
 *
 * Ranks spin, and a kernel may leave two spinning processes on one core for a long time after they
 * were forked, while another core idles; what is then measured is the scheduler.
 */
#include "bind.h"

#include <hwloc.h>

static int bind_in(hwloc_topology_t topology, int index)
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    int cores = 0;
    if (allowed && hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) == 0)
        cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, allowed, HWLOC_OBJ_CORE);
    if (cores > 0) {
        hwloc_obj_t core = hwloc_get_obj_inside_cpuset_by_type(topology, allowed, HWLOC_OBJ_CORE,
                                                               (unsigned)(index % cores));
        if (!core || hwloc_set_cpubind(topology, core->cpuset, HWLOC_CPUBIND_THREAD) != 0)
            cores = 0;
    }
    hwloc_bitmap_free(allowed);
    return cores > 0 ? cores : 0;
}

int bind_to_core(int index)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return 0;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    int cores = hwloc_topology_load(topology) == 0 ? bind_in(topology, index) : 0;
    hwloc_topology_destroy(topology);
    return cores;
}
