/*
 * machine.c - the processors of this host as hwloc sees them.
 */
#include "host/host.h"

bool machine_load(hwloc_topology_t *topology)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_CORE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_PACKAGE};
    if (hwloc_topology_init(topology) != 0)
        return false;
    hwloc_topology_set_all_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        hwloc_topology_set_type_filter(*topology, types[t], HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_flags(*topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(*topology) == 0)
        return true;
    hwloc_topology_destroy(*topology);
    return false;
}
