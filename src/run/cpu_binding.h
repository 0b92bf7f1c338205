/*
 * cpu_binding.h - where each rank of a host runs: its core, and the caches around it.
 */
#ifndef CCTEST_RUN_CPU_BINDING_H
#define CCTEST_RUN_CPU_BINDING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "host/host_place.h"

/* Where a rank runs on its host. */
struct cpu_binding {
    size_t cache_bytes; /* of all third-level caches that it can reach; 0: unknown */
    int core;           /* that it is bound to, counted in the topology's order; -1: not bound */
    int sharing;        /* ranks that are bound to that core, this one among them */
    int threads;        /* hardware threads of the core that these ranks may use */
    int cache;          /* which cache, counted likewise; -1: several, or unknown */
};
void cpu_binding_encode(const struct cpu_binding *binding, struct bytes *share);
bool cpu_binding_decode(struct cpu_binding *binding, struct reader *reader); /* false: invalid */

/* The CPUs that a rank may use. */
void cpu_set_encode(const cpu_set_t *cpus, struct bytes *share);
bool cpu_set_decode(cpu_set_t *cpus, struct reader *reader); /* false: invalid */

/* Finds where the calling thread runs. `binds`: first assigns the host's cores to its ranks, and
 * binds the thread to the core of this rank; where that is not possible nothing changes. `masks`:
 * the CPUs that each of the `count` ranks may use, in the order of ranks, the same in each of these
 * ranks, so that all assign alike. `me`: the caller's index. */
void cpu_binding_find(const cpu_set_t *masks, int count, int me, bool binds,
                      struct cpu_binding *binding);

/* The levels of a place among CPUs, whose parts are numbered in hwloc's order. */
enum cpu_level { CPU_CORE, CPU_CACHE, CPU_NUMA, CPU_PACKAGE, CPU_LEVELS };

/* Where cpu_binding_find() would bind a rank of this machine (machine_load()), by the same
 * arguments; binds nothing. */
struct hwloc_topology;
struct host_place cpu_place_find(struct hwloc_topology *machine, const cpu_set_t *masks, int count,
                                 int me, bool binds);

#endif
