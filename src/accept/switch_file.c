/*
 * switch_file.c - which hosts stand behind which switches.
 */
#include "accept/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/host_list.h"
#include "base/text_file.h"
#include "predict/topology/topology.h"

/* A name of a host of the run. */
struct host_key {
    char *name;
    int host;
};

struct switch_file {
    struct arena *memory;
    struct switch_tree tree;
    int *root; /* by switch: of the part of the network that it belongs to: another, or itself */
    const char *const *hosts;
    int host_count;
    struct host_key *keys; /* by name */
    int key_count;
    int *leaf_of; /* by host; -1: not named yet */
    int current;  /* the switch whose hosts are taken */
};

/* ---- hosts of the run ---- */

static int key_compare(const void *a, const void *b)
{
    return strcmp(((const struct host_key *)a)->name, ((const struct host_key *)b)->name);
}

static void key_add(struct switch_file *file, const char *name, size_t length, int host)
{
    char *copy = arena_new(file->memory, length + 1, 1);
    memcpy(copy, name, length);
    file->keys[file->key_count++] = (struct host_key){.name = copy, .host = host};
}

/* Each host by its name, and by its name without the domain. */
static void keys_make(struct switch_file *file)
{
    file->keys = arena_new(file->memory, 2 * (size_t)file->host_count, sizeof *file->keys);
    for (int h = 0; h < file->host_count; h++) {
        const char *name = file->hosts[h];
        size_t whole = strlen(name), part = strcspn(name, ".");
        key_add(file, name, whole, h);
        if (part < whole)
            key_add(file, name, part, h);
    }
    qsort(file->keys, (size_t)file->key_count, sizeof *file->keys, key_compare);
}

/* Puts a host behind the current switch, if it is one of the run. */
static enum status host_take(void *argument, const char *name)
{
    struct switch_file *file = argument;
    char wanted[256];
    snprintf(wanted, sizeof wanted, "%s", name);
    const struct host_key key = {.name = wanted}, *end = file->keys + file->key_count,
                          *at = bsearch(&key, file->keys, (size_t)file->key_count,
                                        sizeof *file->keys, key_compare);
    while (at && at > file->keys && key_compare(at - 1, &key) == 0)
        at--;
    for (; at && at < end && key_compare(at, &key) == 0; at++) {
        int *leaf = &file->leaf_of[at->host];
        const struct tree_switch *switches = file->tree.switches;
        if (*leaf >= 0 && *leaf != file->current)
            return fail_line(STATUS_USAGE, file->tree.path, switches[file->current].line,
                             "host %.64s is behind switch %.64s already (line %ld): name each host "
                             "behind one switch",
                             name, switches[*leaf].name, switches[*leaf].line);
        *leaf = file->current;
    }
    return STATUS_OK;
}

/* ---- levels ---- */

static int root_of(const struct switch_file *file, int number)
{
    while (file->root[number] != number)
        number = file->root[number];
    return number;
}

/* The root of two parts is the higher one, then the first in the file. */
static void parts_join(struct switch_file *file, int a, int b)
{
    a = root_of(file, a);
    b = root_of(file, b);
    int over = file->tree.switches[a].level - file->tree.switches[b].level;
    if (over > 0 || (over == 0 && a < b))
        file->root[b] = a;
    else
        file->root[a] = b;
}

/* Numbers the switches in the order of the file. `switch_of`: of each host; -1: none. */
static void level_make(const struct switch_file *file, const int *switch_of,
                       struct switch_level *level)
{
    const size_t switches = (size_t)file->tree.switch_count, hosts = (size_t)file->host_count;
    int *number = arena_new(file->memory, switches, sizeof *number);
    *level = (struct switch_level){.name = new_array(switches, sizeof *level->name),
                                   .switches = new_array(hosts, sizeof *level->switches)};
    for (int h = 0; h < file->host_count; h++)
        if (switch_of[h] >= 0)
            number[switch_of[h]] = 1;
    for (int s = 0; s < file->tree.switch_count; s++)
        if (number[s]) {
            number[s] = level->count;
            level->name[level->count++] = new_text(file->tree.switches[s].name);
        }
    for (int h = 0; h < file->host_count; h++)
        level->switches[h] = switch_of[h] < 0 ? -1 : number[switch_of[h]];
}

/* Fills the part of each host; how many parts there are. `seen`: of each switch. */
static int parts_find(const struct switch_file *file, int *part_of, int *seen)
{
    int parts = 0;
    memset(seen, 0, (size_t)file->tree.switch_count * sizeof *seen);
    for (int h = 0; h < file->host_count; h++) {
        part_of[h] = file->leaf_of[h] < 0 ? -1 : root_of(file, file->leaf_of[h]);
        parts += part_of[h] >= 0 && !seen[part_of[h]]++;
    }
    return parts;
}

/* Joins what each level joins, until another one would leave a single part. */
static void above_find(struct switch_file *file, int leaves, struct switch_level *above)
{
    int parts = leaves, next = 0;
    size_t count = (size_t)file->host_count;
    int *part_of = arena_new(file->memory, count, sizeof *part_of);
    int *kept = arena_new(file->memory, count, sizeof *kept);
    int *seen = arena_new(file->memory, (size_t)file->tree.switch_count, sizeof *seen);
    for (int level = 1; level <= SWITCH_LEVELS_MOST; level++) {
        for (int c = 0; c < file->tree.cable_count; c++)
            if (file->tree.switches[file->tree.cables[c].above].level == level)
                parts_join(file, file->tree.cables[c].above, file->tree.cables[c].below);
        next = parts_find(file, part_of, seen);
        if (next < 2)
            break;
        parts = next;
        memcpy(kept, part_of, count * sizeof *kept);
    }
    if (parts < leaves)
        level_make(file, kept, above);
}

/* ---- the file ---- */

/* Hosts of the run that the file lacks. */
static enum status hosts_check(const struct switch_file *file)
{
    const char **lacking = arena_new(file->memory, (size_t)file->host_count, sizeof *lacking);
    char list[400];
    struct text text = text_in(list, sizeof list);
    int count = 0;
    for (int h = 0; h < file->host_count; h++)
        if (file->leaf_of[h] < 0 && file->hosts[h][0])
            lacking[count++] = file->hosts[h];
    host_list_add(&text, lacking, count);
    if (count == 0)
        return STATUS_OK;
    return fail(STATUS_USAGE,
                "%.200s has no switch for %.300s, which %s in this run: add %s to the line of %s "
                "switch",
                file->tree.path, list, count == 1 ? "is" : "are", count == 1 ? "it" : "them",
                count == 1 ? "its" : "their");
}

static enum status leaves_find(struct switch_file *file)
{
    for (int s = 0; s < file->tree.switch_count; s++) {
        file->root[s] = file->current = s;
        if (file->tree.switches[s].hosts)
            TRY(switch_tree_hosts(&file->tree, s, host_take, file));
    }
    return STATUS_OK;
}

static enum status file_read(struct switch_file *file, const char *path)
{
    char *text = NULL;
    TRY(text_file_read(path, &text));
    TRY(switch_tree_parse(path, text, &file->tree));
    file->root = arena_new(file->memory, (size_t)file->tree.switch_count, sizeof *file->root);
    file->leaf_of = arena_new(file->memory, (size_t)file->host_count, sizeof *file->leaf_of);
    keys_make(file);
    for (int h = 0; h < file->host_count; h++)
        file->leaf_of[h] = -1;
    TRY(leaves_find(file));
    return hosts_check(file);
}

enum status switch_file_read(const char *path, const char *const *hosts, int count,
                             struct switch_level *leaves, struct switch_level *above)
{
    struct switch_file file = {.memory = arena_create(), .hosts = hosts, .host_count = count};
    *leaves = *above = (struct switch_level){0};
    enum status status = file_read(&file, path);
    if (status == STATUS_OK) {
        level_make(&file, file.leaf_of, leaves);
        above_find(&file, leaves->count, above);
    }
    switch_tree_free(&file.tree);
    arena_free(file.memory);
    return status;
}
