/*
 * host_map.h - the parts of a host as a tree: packages, NUMA nodes, third-level caches and cores,
 * as hwloc tells them, and PCI bridges, GPUs and NICs, as sysfs does. How far GPUs, NICs and cores
 * are apart on it.
 */
#ifndef CCTEST_HOST_HOST_MAP_H
#define CCTEST_HOST_HOST_MAP_H

#include <stdbool.h>
#include <stdint.h>

enum map_kind {
    MAP_PACKAGE,
    MAP_NODE,  /* NUMA node */
    MAP_CACHE, /* of the third level */
    MAP_CORE,
    MAP_HOST_BRIDGE,
    MAP_BRIDGE,
    MAP_GPU,
    MAP_NIC,
    MAP_KINDS
};
extern const char *const map_kind_names[MAP_KINDS]; /* "package", "node", ... */

struct map_part {
    enum map_kind kind;
    int above;      /* the part that it belongs to, an index; -1: none */
    int number;     /* of packages and NUMA nodes the kernel's, of others of its kind from 0 */
    int node;       /* the first NUMA node that has all of it; -1: none has, or unknown */
    uint64_t bytes; /* of a NUMA node or a cache; 0: unknown */
    char *cpus;     /* "0-7,64-71"; NULL: it has none */
    char *names;    /* of a NIC: "mlx5_0, ens1f0"; else NULL */
    char bus[16];   /* PCI address; "": it has none */
};

struct host_map {
    struct map_part *parts; /* each behind the one that it belongs to */
    int count;
    bool failed; /* out of memory: parts are missing */
};

/* `sysfs`: "/sys", or of another host, whose processors hwloc reads then (HWLOC_FSROOT). To be
 * freed. */
void host_map_make(const char *sysfs, struct host_map *map);
void host_map_free(struct host_map *map);

/* Is it an end of distances: a GPU, a NIC, or a part that has cores directly? */
bool host_map_is_end(const struct host_map *map, int part);

/* How far two ends are apart, in the words of pci_distance_names; "X": they are one. Cores and
 * devices are NODE on one NUMA node, else SYS. */
const char *host_map_distance(const struct host_map *map, const char *sysfs, int a, int b);

#endif
