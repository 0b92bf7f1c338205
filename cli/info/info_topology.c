/*
 * info_topology.c - the parts of this machine as a tree, and a table of distances.
 */
#include "cli/info/internal.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "host/host.h"

#define LABEL_MOST  32
#define CELL_MOST   16
#define INDENTATION 2

/* ---- the document ---- */

/* "GPU0"; a bridge is known by its address. */
static json_t *part_label(const void *object, const void *context)
{
    const struct map_part *part = object;
    const char *kind = map_kind_names[part->kind];
    (void)context;
    return part->kind == MAP_HOST_BRIDGE || part->kind == MAP_BRIDGE
               ? json_sprintf("%s %s", kind, part->bus)
               : json_sprintf("%s%d", kind, part->number);
}

static json_t *part_bytes(const void *object, const void *context)
{
    const struct map_part *part = object;
    (void)context;
    return part->bytes > 0 ? json_integer((json_int_t)part->bytes) : json_null();
}

const struct json_field part_fields[] = {
    {"type", "package|node|cache|core|host bridge|bridge|GPU|NIC",
     "kind of the part: package of a processor, NUMA node, cache of the third level, core, PCI "
     "bridge, GPU or NIC",
     JSON_WORDS(struct map_part, kind, map_kind_names)},
    {"label", "name",
     "name of the part, as in distances: GPU0; of a bridge its kind and PCI address",
     JSON_MADE(part_label)},
    {"above", "count?", "the part that it belongs to, as an index of the list, or null",
     JSON_MEMBER(struct map_part, above)},
    {"numa_node", "count?", "first NUMA node that has all of it; null: none has, or not known",
     JSON_MEMBER(struct map_part, node)},
    {"bytes", "positive?", "of a node or a cache, or null", JSON_MADE(part_bytes)},
    {"cpus", "name?", "hardware threads as a list of ranges, or null",
     JSON_MEMBER(struct map_part, cpus)},
    {"pci", "name?", "address, or null", JSON_MEMBER(struct map_part, bus)},
    {"names", "name?", "of a NIC, with its network interfaces, or null",
     JSON_MEMBER(struct map_part, names)},
    {0},
};

/* "NV18" from "NV18 by NVSwitch, peer access", a fact of a GPU about another. False: the two have
 * no NVLinks. */
static bool nvlinks_between(const json_t *gpus, const char *bus, const char *other,
                            char word[CELL_MOST])
{
    size_t k;
    json_t *gpu;
    char name[LABEL_MOST];
    snprintf(name, sizeof name, "to %s", other);
    json_array_foreach(gpus, k, gpu)
    {
        const char *own = json_string_value(json_object_get(gpu, "pci"));
        const char *path = json_string_value(json_object_get(json_object_get(gpu, "facts"), name));
        if (own && path && strcmp(own, bus) == 0 && strncmp(path, "NV", 2) == 0) {
            snprintf(word, CELL_MOST, "%.*s", (int)strcspn(path, " ,"), path);
            return true;
        }
    }
    return false;
}

static json_t *distance_word(const struct host_map *map, const json_t *gpus, const char *sysfs,
                             int a, int b)
{
    char word[CELL_MOST];
    if (a != b && map->parts[a].kind == MAP_GPU && map->parts[b].kind == MAP_GPU &&
        nvlinks_between(gpus, map->parts[a].bus, map->parts[b].bus, word))
        return json_string(word);
    return json_string(host_map_distance(map, sysfs, a, b));
}

/* Devices first, as nvidia-smi has them. */
static int ends_find(const struct host_map *map, int *ends)
{
    static const enum map_kind kinds[] = {MAP_GPU, MAP_NIC, MAP_CACHE, MAP_NODE, MAP_PACKAGE};
    int count = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int i = 0; i < map->count; i++)
            if (map->parts[i].kind == kinds[k] && host_map_is_end(map, i))
                ends[count++] = i;
    return count;
}

static void distances_add(json_t *topology, const struct host_map *map, const json_t *gpus,
                          const char *sysfs)
{
    json_t *names = json_array(), *rows = json_array();
    int *ends = new_array((size_t)map->count, sizeof *ends);
    int count = ends_find(map, ends);
    for (int i = 0; i < count; i++) {
        json_t *row = json_array();
        json_array_append_new(names, part_label(&map->parts[ends[i]], NULL));
        for (int k = 0; k < count; k++)
            json_array_append_new(row, distance_word(map, gpus, sysfs, ends[i], ends[k]));
        json_array_append_new(rows, row);
    }
    json_object_set_new(topology, "distances",
                        json_pack("{s:o, s:o}", "between", names, "rows", rows));
    free(ends);
}

void topology_add(json_t *document, const char *sysfs)
{
    struct host_map map;
    json_t *topology = json_object_get(document, "topology");
    host_map_make(sysfs, &map);
    json_object_set_new(
        topology, "parts",
        json_list_of(part_fields, map.parts, sizeof *map.parts, (size_t)map.count, NULL));
    distances_add(topology, &map, json_object_get(document, "gpus"), sysfs);
    host_map_free(&map);
}

/* ---- the text ---- */

static bool is_of_type(const json_t *part, enum map_kind kind)
{
    const char *type = string_of(part, "type");
    return type && strcmp(type, map_kind_names[kind]) == 0;
}

static bool is_above(const json_t *part, long long above)
{
    const json_t *index = json_object_get(part, "above");
    return json_is_integer(index) ? json_integer_value(index) == above : above < 0;
}

/* How many parts belong to one, cores or others. */
static int parts_below(const json_t *parts, size_t above, bool cores, size_t *last)
{
    size_t i;
    json_t *part;
    int count = 0;
    json_array_foreach(parts, i, part)
    {
        if (!is_above(part, (long long)above) || is_of_type(part, MAP_CORE) != cores)
            continue;
        count++;
        *last = i;
    }
    return count;
}

static void words_add(struct text *text, const char *format, const char *words)
{
    if (words) {
        text_add(text, "%s", text->used ? ", " : "  ");
        text_add(text, format, words);
    }
}

/* The label of a part, and its facts behind it. */
static void part_print(const json_t *parts, size_t index)
{
    char buffer[1024], number[64];
    size_t last;
    struct text text = text_in(buffer, sizeof buffer);
    const json_t *part = json_array_get(parts, index);
    bool is_bridge = is_of_type(part, MAP_BRIDGE) || is_of_type(part, MAP_HOST_BRIDGE);
    long long bytes = json_integer_value(json_object_get(part, "bytes"));
    int cores = parts_below(parts, index, true, &last);
    if (bytes > 0) {
        bool is_node = is_of_type(part, MAP_NODE);
        snprintf(number, sizeof number, "%.1f %s", (double)bytes / (is_node ? 1 << 30 : 1 << 20),
                 is_node ? "GiB" : "MiB");
        words_add(&text, "%s", number);
    }
    if (cores > 0) {
        snprintf(number, sizeof number, "%d core%s", cores, plural(cores));
        words_add(&text, "%s", number);
    }
    if (cores > 0 || is_of_type(part, MAP_NODE))
        words_add(&text, "CPUs %s", string_of(part, "cpus"));
    if (!is_bridge) {
        words_add(&text, "%s", string_of(part, "pci"));
        words_add(&text, "%s", string_of(part, "names"));
    }
    printf("%s%s", string_of(part, "label"), buffer);
}

/* All that belongs to part `above`; -1: to none. Bridges without a branch share a line. It ends,
 * since parts are listed behind what they belong to. */
static void tree_print(const json_t *parts, long long above, int column)
{
    size_t i;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        size_t at = i, next = i;
        if (!is_above(part, above) || is_of_type(part, MAP_CORE))
            continue;
        printf("%*s", column, "");
        part_print(parts, at);
        while (is_of_type(json_array_get(parts, at), MAP_BRIDGE) &&
               parts_below(parts, at, false, &next) == 1 &&
               is_of_type(json_array_get(parts, next), MAP_BRIDGE)) {
            printf(", %s", string_of(json_array_get(parts, next), "pci"));
            at = next;
        }
        putchar('\n');
        tree_print(parts, (long long)at, column + INDENTATION);
    }
}

static int width_of(const json_t *words, int width)
{
    size_t i;
    json_t *word;
    json_array_foreach(words, i, word)
    {
        int length = (int)json_string_length(word);
        width = length > width ? length : width;
    }
    return width;
}

static void row_print(const char *name, const json_t *words, int first, int width)
{
    size_t i;
    json_t *word;
    printf("  %-*s", first, name);
    json_array_foreach(words, i, word) printf("  %*s", width, json_string_value(word));
    putchar('\n');
}

static void distances_print(const json_t *distances)
{
    static const char legend[] = "  X     itself; of a cache or a node, its cores\n"
                                 "  NV#   so many NVLinks\n"
                                 "  PIX   one PCIe switch, or one bridge\n"
                                 "  PXB   several bridges behind one port of a host bridge\n"
                                 "  PHB   a host bridge\n"
                                 "  NODE  a NUMA node\n"
                                 "  SYS   the connection between NUMA nodes\n";
    const json_t *names = json_object_get(distances, "between");
    const json_t *rows = json_object_get(distances, "rows");
    size_t i;
    json_t *row;
    int first = width_of(names, 0), width = first;
    json_array_foreach(rows, i, row) width = width_of(row, width);
    puts("distances, by the way between two of them");
    row_print("", names, first, width);
    json_array_foreach(rows, i, row)
        row_print(json_string_value(json_array_get(names, i)), row, first, width);
    fputs(legend, stdout);
}

void topology_print(const json_t *document)
{
    const json_t *topology = json_object_get(document, "topology");
    const json_t *parts = json_object_get(topology, "parts");
    const json_t *distances = json_object_get(topology, "distances");
    if (parts) {
        puts("topology");
        tree_print(parts, -1, INDENTATION);
    }
    if (json_array_size(json_object_get(distances, "between")) > 0)
        distances_print(distances);
}
