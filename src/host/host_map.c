/*
 * host_map.c - the parts of a host as a tree.
 */
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

/*
 * The processors of this host as hwloc sees them.
 */
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

/*
 * The parts of a host as a tree.
 */
const char *const map_kind_names[MAP_KINDS] = {"package",     "node",   "cache", "core",
                                               "host bridge", "bridge", "GPU",   "NIC"};

/* Returns the index of a part that belongs to nothing yet. */
static int part_add(struct host_map *map, enum map_kind kind, int number)
{
    struct map_part *part = LIST_ADD(map->parts, map->count);
    *part = (struct map_part){.kind = kind, .above = -1, .number = number, .node = -1};
    return map->count - 1;
}

/* ---- processors ---- */

/* The objects of hwloc for the first parts of a map. */
struct processors {
    hwloc_topology_t topology;
    hwloc_obj_t *objects; /* of each part */
    int count;
};

/* The smallest part of a larger kind that has all hardware threads of an object. */
static int part_around(const struct host_map *map, const struct processors *processors,
                       enum map_kind kind, hwloc_obj_t object)
{
    int found = -1, least = 0;
    for (int i = 0; i < map->count && map->parts[i].kind < kind; i++) {
        int size = hwloc_bitmap_weight(processors->objects[i]->cpuset);
        if (!hwloc_bitmap_iszero(object->cpuset) &&
            hwloc_bitmap_isincluded(object->cpuset, processors->objects[i]->cpuset) &&
            (found < 0 || size < least ||
             (size == least && map->parts[i].kind > map->parts[found].kind))) {
            found = i;
            least = size;
        }
    }
    return found;
}

/* The first NUMA node that has all of an object. */
static int node_around(const struct host_map *map, const struct processors *processors, int part)
{
    for (int i = 0; i < map->count; i++)
        if (map->parts[i].kind == MAP_NODE &&
            (i == part || hwloc_bitmap_isincluded(processors->objects[part]->cpuset,
                                                  processors->objects[i]->cpuset)))
            return map->parts[i].number;
    return -1;
}

static void processor_add(struct host_map *map, struct processors *processors, enum map_kind kind,
                          hwloc_obj_t object)
{
    int around = part_around(map, processors, kind, object);
    bool is_counted = kind == MAP_PACKAGE || kind == MAP_NODE;
    int index = part_add(map, kind, (int)(is_counted ? object->os_index : object->logical_index));
    *LIST_ADD(processors->objects, processors->count) = object;
    struct map_part *part = &map->parts[index];
    part->above = around;
    part->bytes = kind == MAP_NODE    ? object->attr->numanode.local_memory
                  : kind == MAP_CACHE ? object->attr->cache.size
                                      : 0;
    if (!hwloc_bitmap_iszero(object->cpuset) &&
        hwloc_bitmap_list_asprintf(&part->cpus, object->cpuset) < 0)
        memory_end();
}

static void processors_add(struct host_map *map)
{
    static const hwloc_obj_type_t types[] = {
        [MAP_PACKAGE] = HWLOC_OBJ_PACKAGE,
        [MAP_NODE] = HWLOC_OBJ_NUMANODE,
        [MAP_CACHE] = HWLOC_OBJ_L3CACHE,
        [MAP_CORE] = HWLOC_OBJ_CORE,
    };
    struct processors processors = {0};
    if (!machine_load(&processors.topology))
        return;
    for (int kind = MAP_PACKAGE; kind <= MAP_CORE; kind++)
        for (hwloc_obj_t object = NULL;
             (object = hwloc_get_next_obj_by_type(processors.topology, types[kind], object));)
            processor_add(map, &processors, (enum map_kind)kind, object);
    for (int i = 0; i < map->count; i++)
        map->parts[i].node = node_around(map, &processors, i);
    free(processors.objects);
    hwloc_topology_destroy(processors.topology);
}

/* ---- devices ---- */

static int part_of_node(const struct host_map *map, int node)
{
    for (int i = 0; i < map->count; i++)
        if (map->parts[i].kind == MAP_NODE && map->parts[i].number == node)
            return i;
    return -1;
}

/* The node of a device, which is on the map. Firmware of a host with one node does not tell it. */
static int device_node(const struct host_map *map, const char *sysfs, const char *bus)
{
    int node = pci_numa_node(sysfs, bus), nodes = 0, last = -1;
    for (int i = 0; i < map->count; i++)
        if (map->parts[i].kind == MAP_NODE) {
            nodes++;
            last = map->parts[i].number;
        }
    if (bus[0] && node < 0 && nodes == 1)
        return last;
    return part_of_node(map, node) >= 0 ? node : -1;
}

/* A bridge, which many devices may be behind. */
static int bridge_add(struct host_map *map, enum map_kind kind, const char *bus, int above,
                      int node)
{
    int count = 0;
    for (int i = 0; i < map->count; i++) {
        if (map->parts[i].kind == kind && strcmp(map->parts[i].bus, bus) == 0)
            return i;
        count += map->parts[i].kind == kind;
    }
    int index = part_add(map, kind, count);
    struct map_part *part = &map->parts[index];
    part->above = above;
    part->node = node;
    snprintf(part->bus, sizeof part->bus, "%s", bus);
    return index;
}

/* `names`: NULL, or a copy that the map owns. */
static void device_put(struct host_map *map, const char *sysfs, enum map_kind kind, int number,
                       const char *bus, char *names)
{
    char chain[PCI_CHAIN_MOST][16];
    int node = device_node(map, sysfs, bus), above = part_of_node(map, node);
    int count = pci_chain(sysfs, bus, chain);
    for (int i = 0; i < count - 1; i++)
        above = bridge_add(map, i ? MAP_BRIDGE : MAP_HOST_BRIDGE, chain[i], above, node);
    int index = part_add(map, kind, number);
    struct map_part *part = &map->parts[index];
    part->above = above;
    part->node = node;
    part->names = names;
    snprintf(part->bus, sizeof part->bus, "%s", bus);
}

static void devices_put(struct host_map *map, const char *sysfs)
{
    struct device_list gpus = {0};
    struct nic *nics;
    pci_gpus(sysfs, &gpus);
    int count = nics_find(sysfs, &nics);
    for (int i = 0; i < gpus.count; i++)
        device_put(map, sysfs, MAP_GPU, i, gpus.devices[i].bus, NULL);
    for (int i = 0; i < count; i++) {
        char *names;
        const char *behind = nics[i].interfaces;
        if (asprintf(&names, "%s%s%s", nics[i].name, behind[0] ? ", " : "", behind) < 0)
            memory_end();
        device_put(map, sysfs, MAP_NIC, i, nics[i].bus, names);
    }
    device_list_free(&gpus);
    free(nics);
}

/* ---- the map ---- */

void host_map_make(const char *sysfs, struct host_map *map)
{
    *map = (struct host_map){0};
    processors_add(map);
    devices_put(map, sysfs);
}

void host_map_free(struct host_map *map)
{
    for (int i = 0; i < map->count; i++) {
        free(map->parts[i].cpus);
        free(map->parts[i].names);
    }
    free(map->parts);
    *map = (struct host_map){0};
}

static bool is_device(const struct map_part *part)
{
    return part->kind == MAP_GPU || part->kind == MAP_NIC;
}

bool host_map_is_end(const struct host_map *map, int part)
{
    bool has_cores = false;
    for (int i = part + 1; i < map->count && !has_cores; i++)
        has_cores = map->parts[i].above == part && map->parts[i].kind == MAP_CORE;
    return has_cores || is_device(&map->parts[part]);
}

const char *host_map_distance(const struct host_map *map, const char *sysfs, int a, int b)
{
    const struct map_part *one = &map->parts[a], *other = &map->parts[b];
    enum pci_distance distance = PCI_UNKNOWN;
    bool node_known = one->node >= 0 && other->node >= 0;
    if (a == b)
        return "X";
    if (is_device(one) && is_device(other))
        distance = pci_distance(sysfs, one->bus, other->bus);
    if ((distance == PCI_UNKNOWN || distance == PCI_SYS) && node_known)
        distance = one->node == other->node ? PCI_NODE : PCI_SYS;
    return pci_distance_names[distance];
}

/*
 * Where a rank or a device stands in its host.
 */
struct host_place host_place_unknown(void)
{
    struct host_place place;
    for (int l = 0; l < PLACE_LEVELS; l++)
        place.at[l] = PLACE_UNKNOWN;
    return place;
}

int host_place_shared(const struct host_place *a, const struct host_place *b)
{
    int l = 0;
    while (l < PLACE_LEVELS && (a->at[l] == PLACE_UNKNOWN || a->at[l] != b->at[l]))
        l++;
    return l;
}

int host_place_compare(const struct host_place *a, const struct host_place *b)
{
    for (int l = PLACE_LEVELS - 1; l >= 0; l--)
        if (a->at[l] != b->at[l])
            return a->at[l] < b->at[l] ? -1 : 1;
    return 0;
}

void host_place_code(struct codec codec, struct host_place *place)
{
    for (int l = 0; l < PLACE_LEVELS; l++)
        code_u32(codec, &place->at[l], 0, UINT32_MAX);
}
