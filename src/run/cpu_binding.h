/*
 * cpu_binding.h - where each rank of a host runs: a core for each, and the caches around it.
 */
#ifndef CCTEST_RUN_CPU_BINDING_H
#define CCTEST_RUN_CPU_BINDING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* Where a rank runs on its host. */
struct cpu_binding {
    size_t cache_bytes; /* of all third-level caches that it can reach; 0: unknown */
    int core;           /* to which it is bound, counted in the topology's order; -1: it is not */
    int sharing;        /* ranks that are bound to that core, itself among them, */
    int threads;        /* and hardware threads of the core that some of them may use */
    int cache;          /* which cache, counted likewise; -1: several, or unknown */
};

/* Where the calling thread runs. `binds`: deals the host's cores out to its ranks first, and binds
 * the thread to what it was dealt; where that is not possible nothing has changed. `masks`: what
 * each of the `count` ranks may use, in the order of ranks; all of them call it with the same ones,
 * so that all deal alike. `me`: the caller's. */
void cpu_binding_find(const cpu_set_t *masks, int count, int me, bool binds,
                      struct cpu_binding *binding);

#endif
