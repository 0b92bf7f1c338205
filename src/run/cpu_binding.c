/*
 * cpu_binding.c - binding by hwloc, which knows cores from hardware threads, and which caches they share.
 *
 * Ranks spin, and a kernel may leave two spinning processes on one core for a long time after they
 * were forked, while another core idles; what is then measured is the scheduler.
 *
 * A launcher may have given the ranks of a host any cores: the same to all, some to each, or to one
 * rank a part of what another has. So those who may use least choose first, each a core that has
 * the fewest ranks so far.
 */
#include "run/cpu_binding.h"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <stdlib.h>

/* Who chooses, and how many hardware threads it may use. */
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

/* Of the cores that `mask` touches, the first of those with the fewest ranks; -1: it has none. */
static int core_choose(hwloc_topology_t topology, hwloc_const_bitmap_t mask, const int *ranks_on,
                       int cores)
{
    int chosen = -1;
    for (int c = 0; c < cores; c++) {
        if (hwloc_bitmap_intersects(core_of(topology, c)->cpuset, mask) &&
            (chosen < 0 || ranks_on[c] < ranks_on[chosen]))
            chosen = c;
    }
    return chosen;
}

/* Who calls is dealt `*mine` (-1: nothing), and ranks_on[core] counts what all are dealt. False:
 * out of memory. */
static bool cores_deal(hwloc_topology_t topology, const cpu_set_t *masks, int count, int me,
                       int *ranks_on, int cores, int *mine)
{
    struct turn *turns = malloc((size_t)count * sizeof *turns);
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    bool done = turns && mask;
    for (int r = 0; done && r < count; r++)
        turns[r] = (struct turn){.rank = r, .threads = CPU_COUNT(&masks[r])};
    if (done)
        qsort(turns, (size_t)count, sizeof *turns, turn_compare);
    for (int t = 0; done && t < count; t++) {
        int rank = turns[t].rank;
        done = hwloc_cpuset_from_glibc_sched_affinity(topology, mask, &masks[rank],
                                                      sizeof masks[rank]) == 0;
        int core = core_choose(topology, mask, ranks_on, cores);
        if (core >= 0)
            ranks_on[core]++;
        if (rank == me)
            *mine = core;
    }
    hwloc_bitmap_free(mask);
    free(turns);
    return done;
}

/* Binds to the part of `core` that the caller may use. */
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
static int core_threads(const cpu_set_t *masks, int count, hwloc_obj_t core)
{
    int threads = 0, thread;
    hwloc_bitmap_foreach_begin(thread, core->cpuset)
    {
        bool usable = false;
        for (int r = 0; r < count && !usable; r++)
            usable = thread < CPU_SETSIZE && CPU_ISSET((size_t)thread, &masks[r]);
        threads += usable;
    }
    hwloc_bitmap_foreach_end();
    return threads;
}

static void binding_bind(hwloc_topology_t topology, const cpu_set_t *masks, int count, int me,
                         struct cpu_binding *binding)
{
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), mine = -1;
    int *ranks_on = cores > 0 ? calloc((size_t)cores, sizeof *ranks_on) : NULL;
    if (ranks_on && cores_deal(topology, masks, count, me, ranks_on, cores, &mine) && mine >= 0) {
        hwloc_obj_t core = core_of(topology, mine);
        binding->core = bind_in(topology, &masks[me], core) ? mine : -1;
        binding->sharing = ranks_on[mine];
        binding->threads = core_threads(masks, count, core);
    }
    free(ranks_on);
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
void cpu_set_encode(const cpu_set_t *cpus, struct bytes *share)
{
    unsigned char bits[CPU_SETSIZE / 8] = {0};
    size_t size = 0;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus))
            continue;
        bits[cpu / 8] |= (unsigned char)(1u << cpu % 8);
        size = cpu / 8 + 1;
    }
    bytes_put_u32(share, (uint32_t)size);
    bytes_put(share, bits, size);
}

bool cpu_set_decode(cpu_set_t *cpus, struct reader *reader)
{
    size_t size = read_u32(reader);
    const unsigned char *bits = read_bytes(reader, size);
    CPU_ZERO(cpus);
    if (!bits || size > CPU_SETSIZE / 8)
        return false;
    for (size_t cpu = 0; cpu < 8 * size; cpu++)
        if (bits[cpu / 8] >> cpu % 8 & 1)
            CPU_SET(cpu, cpus);
    return true;
}

void cpu_binding_encode(const struct cpu_binding *binding, struct bytes *share)
{
    bytes_put_u64(share, binding->cache_bytes);
    bytes_put_u32(share, (uint32_t)binding->core);
    bytes_put_u32(share, (uint32_t)binding->sharing);
    bytes_put_u32(share, (uint32_t)binding->threads);
    bytes_put_u32(share, (uint32_t)binding->cache);
}

bool cpu_binding_decode(struct cpu_binding *binding, struct reader *reader)
{
    binding->cache_bytes = read_u64(reader);
    binding->core = (int)read_u32(reader);
    binding->sharing = (int)read_u32(reader);
    binding->threads = (int)read_u32(reader);
    binding->cache = (int)read_u32(reader);
    return binding->core >= -1 && binding->sharing >= 0 && binding->threads >= 0 &&
           binding->cache >= -1;
}

void cpu_binding_find(const cpu_set_t *masks, int count, int me, bool binds,
                      struct cpu_binding *binding)
{
    hwloc_topology_t topology;
    *binding = (struct cpu_binding){.core = -1, .cache = -1};
    if (hwloc_topology_init(&topology) != 0)
        return;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
    /* All of the machine, so that ranks that were given different parts of it count alike. */
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(topology) == 0) {
        if (binds)
            binding_bind(topology, masks, count, me, binding);
        binding_caches(topology, binding);
    }
    hwloc_topology_destroy(topology);
}
