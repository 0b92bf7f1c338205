/*
 * cpu_binding.c - binds ranks to cores, by hwloc, and finds the caches that cores share.
 *
 * Ranks spin. A kernel may leave two spinning processes on one core for a long time after they were
 * forked, while another core idles; what is then measured is the scheduler.
 *
 * A launcher may have given the ranks of a host any cores: the same to all, some to each, or to one
 * rank a part of what another has. So the ranks with the fewest hardware threads choose first, each
 * a core that has the fewest ranks so far.
 */
#include "run/run.h"

#include <hwloc/glibc-sched.h>
#include <stdlib.h>

#include "base/list.h"

/* A rank that chooses, and how many hardware threads it may use. */
struct turn {
    int rank, threads;
};

static int turn_compare(const void *a, const void *b)
{
    const struct turn *x = a, *y = b;
    return x->threads != y->threads ? x->threads - y->threads : x->rank - y->rank;
}

static hwloc_obj_t core_of(hwloc_topology_t topology, int index)
{
    return hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)index);
}

/* The ranks of a host, and the cores that they are assigned to. */
struct host_cores {
    hwloc_topology_t topology;
    const cpu_set_t *masks; /* of each rank */
    int count, me;          /* ranks; the calling one */
    int cores;
    int *ranks_on; /* by core: how many ranks are assigned to it */
    int mine;      /* the caller's core; -1: none */
};

/* The first core with the fewest ranks, of those that `mask` touches; -1: it touches none. */
static int core_choose(const struct host_cores *host, hwloc_const_bitmap_t mask)
{
    int chosen = -1;
    for (int c = 0; c < host->cores; c++) {
        if (hwloc_bitmap_intersects(core_of(host->topology, c)->cpuset, mask) &&
            (chosen < 0 || host->ranks_on[c] < host->ranks_on[chosen]))
            chosen = c;
    }
    return chosen;
}

/* Sets host->ranks_on and host->mine. False: out of memory. */
static bool cores_assign(struct host_cores *host)
{
    struct turn *turns = new_array((size_t)host->count, sizeof *turns);
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    bool done = mask;
    for (int r = 0; r < host->count; r++)
        turns[r] = (struct turn){.rank = r, .threads = CPU_COUNT(&host->masks[r])};
    qsort(turns, (size_t)host->count, sizeof *turns, turn_compare);
    for (int t = 0; done && t < host->count; t++) {
        int rank = turns[t].rank;
        done = hwloc_cpuset_from_glibc_sched_affinity(host->topology, mask, &host->masks[rank],
                                                      sizeof host->masks[rank]) == 0;
        int core = core_choose(host, mask);
        if (core >= 0)
            host->ranks_on[core]++;
        if (rank == host->me)
            host->mine = core;
    }
    hwloc_bitmap_free(mask);
    free(turns);
    return done;
}

/* Binds the calling thread to the part of `core` that `mine` holds. */
static bool bind_in(hwloc_topology_t topology, const cpu_set_t *mine, hwloc_obj_t core)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    bool bound = false;
    if (set && hwloc_cpuset_from_glibc_sched_affinity(topology, set, mine, sizeof *mine) == 0) {
        hwloc_bitmap_and(set, set, core->cpuset);
        bound = hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0;
    }
    hwloc_bitmap_free(set);
    return bound;
}

/* Hardware threads of a core that some rank may use. */
static int core_threads(const struct host_cores *host, hwloc_obj_t core)
{
    int threads = 0, thread;
    hwloc_bitmap_foreach_begin(thread, core->cpuset)
    {
        bool usable = false;
        for (int r = 0; r < host->count && !usable; r++)
            usable = thread < CPU_SETSIZE && CPU_ISSET((size_t)thread, &host->masks[r]);
        threads += usable;
    }
    hwloc_bitmap_foreach_end();
    return threads;
}

/* Sets host->ranks_on, the caller's to free, and host->mine. False: the caller has no core. */
static bool cores_find(struct host_cores *host)
{
    host->cores = hwloc_get_nbobjs_by_type(host->topology, HWLOC_OBJ_CORE);
    host->ranks_on = host->cores > 0 ? calloc((size_t)host->cores, sizeof *host->ranks_on) : NULL;
    return host->ranks_on && cores_assign(host) && host->mine >= 0;
}

static void binding_bind(struct host_cores *host, struct cpu_binding *binding)
{
    if (cores_find(host)) {
        hwloc_obj_t core = core_of(host->topology, host->mine);
        binding->core = bind_in(host->topology, &host->masks[host->me], core) ? host->mine : -1;
        binding->sharing = host->ranks_on[host->mine];
        binding->threads = core_threads(host, core);
    }
    free(host->ranks_on);
}

static void binding_caches(hwloc_topology_t topology, struct cpu_binding *binding)
{
    int all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE), reached = 0;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (set && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0) {
        for (int i = 0; i < all; i++) {
            hwloc_obj_t cache = hwloc_get_obj_by_type(topology, HWLOC_OBJ_L3CACHE, (unsigned)i);
            if (!hwloc_bitmap_intersects(cache->cpuset, set))
                continue;
            binding->cache = reached++ ? -1 : i;
            binding->cache_bytes += cache->attr->cache.size;
        }
    }
    hwloc_bitmap_free(set);
}

/* A bit for each CPU, up to the last that is set. */
void cpu_set_code(struct codec codec, cpu_set_t *cpus)
{
    unsigned char bits[CPU_SETSIZE / 8] = {0};
    uint32_t size = 0;
    for (size_t cpu = 0; codec.out && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, cpus)) {
            bits[cpu / 8] |= (unsigned char)(1u << cpu % 8);
            size = (uint32_t)cpu / 8 + 1;
        }
    code_u32(codec, &size, 0, sizeof bits);
    code_bytes(codec, bits, size);
    CPU_ZERO(cpus);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (bits[cpu / 8] >> cpu % 8 & 1)
            CPU_SET(cpu, cpus);
}

void cpu_binding_code(struct codec codec, struct cpu_binding *binding)
{
    code_u64(codec, &binding->cache_bytes);
    code_int(codec, &binding->core, -1, INT32_MAX);
    code_int(codec, &binding->sharing, 0, INT32_MAX);
    code_int(codec, &binding->threads, 0, INT32_MAX);
    code_int(codec, &binding->cache, -1, INT32_MAX);
}

void cpu_binding_find(const cpu_set_t *masks, int count, int me, bool binds,
                      struct cpu_binding *binding)
{
    hwloc_topology_t topology;
    *binding = (struct cpu_binding){.core = -1, .cache = -1};
    if (!machine_load(&topology))
        return;
    if (binds)
        binding_bind(
            &(struct host_cores){
                .topology = topology, .masks = masks, .count = count, .me = me, .mine = -1},
            binding);
    binding_caches(topology, binding);
    hwloc_topology_destroy(topology);
}

/* ---- places ---- */

/* The only object of a type that has some of these hardware threads. */
static uint32_t only_object(hwloc_topology_t topology, hwloc_obj_type_t type,
                            hwloc_const_bitmap_t set)
{
    uint32_t found = PLACE_UNKNOWN;
    int count = hwloc_get_nbobjs_by_type(topology, type);
    for (int i = 0; i < count; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, (unsigned)i);
        if (!hwloc_bitmap_intersects(object->cpuset, set))
            continue;
        if (found != PLACE_UNKNOWN)
            return PLACE_UNKNOWN;
        found = (uint32_t)i;
    }
    return found;
}

struct host_place cpu_place_find(struct hwloc_topology *machine, const cpu_set_t *masks, int count,
                                 int me, bool binds)
{
    static const hwloc_obj_type_t types[CPU_LEVELS] = {
        [CPU_CORE] = HWLOC_OBJ_CORE,
        [CPU_CACHE] = HWLOC_OBJ_L3CACHE,
        [CPU_NUMA] = HWLOC_OBJ_NUMANODE,
        [CPU_PACKAGE] = HWLOC_OBJ_PACKAGE,
    };
    struct host_place place = host_place_unknown();
    struct host_cores host = {
        .topology = machine, .masks = masks, .count = count, .me = me, .mine = -1};
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    bool known = set && hwloc_cpuset_from_glibc_sched_affinity(machine, set, &masks[me],
                                                               sizeof masks[me]) == 0;
    if (known && binds && cores_find(&host))
        hwloc_bitmap_copy(set, core_of(machine, host.mine)->cpuset);
    for (int l = 0; known && l < CPU_LEVELS; l++)
        place.at[l] = only_object(machine, types[l], set);
    free(host.ranks_on);
    hwloc_bitmap_free(set);
    return place;
}
