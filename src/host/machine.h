/*
 * machine.h - the processors of this host as hwloc sees them.
 */
#ifndef CCTEST_HOST_MACHINE_H
#define CCTEST_HOST_MACHINE_H

#include <hwloc.h>
#include <stdbool.h>

/* Packages, NUMA nodes, third-level caches, cores and hardware threads. Of the whole machine, so
 * that ranks that may use different parts of it number the cores alike. To be destroyed; false:
 * hwloc cannot tell. */
bool machine_load(hwloc_topology_t *topology);

#endif
