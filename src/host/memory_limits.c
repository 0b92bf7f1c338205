/*
 * memory_limits.c - how much memory this process can still get, by /proc and by its control groups.
 * Asked also when memory has run out, so nothing here takes much.
 */
#include "host/host.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MEMORY_RESERVE ((size_t)128 << 20) /* of the machine, left for other processes */

#define GROUP_SHOWN 120 /* bytes of a control group's name in a sentence */

#define MACHINE 1 /* memory_pool.which; no file of a control group has this identity */

/* Bytes that the machine can still give. */
static size_t memory_free_on_machine(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file)
        return SIZE_MAX;
    size_t kibibytes = SIZE_MAX >> 10;
    char line[128];
    while (fgets(line, sizeof(line), file) && sscanf(line, "MemAvailable: %zu kB", &kibibytes) != 1)
        continue;
    fclose(file);
    return kibibytes << 10;
}

/* Where a version of control groups has the limits of memory. */
struct group_files {
    const char *mount, *most, *used;
    const char
        *cached; /* a line of memory.stat: of `used`, files that the kernel drops on demand */
};
static const struct group_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                             "memory.usage_in_bytes", "total_inactive_file"};
static const struct group_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                             "inactive_file"};

#define UNLIMITED (SIZE_MAX / 4) /* version 1 writes a number near this where there is no limit */

/* One number of a control group's file; `otherwise` if there is no file or no limit. */
static size_t memory_group_number(const struct group_files *files, const char *group,
                                  const char *name, size_t otherwise, bool *is_there)
{
    uint64_t value;
    bool known = sysfs_number(&value, "%s%s/%s", files->mount, group, name);
    *is_there |= known;
    return known && value < UNLIMITED ? value : otherwise;
}

/* Bytes that a group and those below it use, but for the files that the kernel can drop: a group
 * that has read much is full of these, and has memory all the same. */
static size_t memory_group_used(const struct group_files *files, const char *group, bool *is_there)
{
    size_t used = memory_group_number(files, group, files->used, 0, is_there), cached = 0, value;
    char path[PATH_MAX], name[64];
    int length = snprintf(path, sizeof(path), "%s%s/memory.stat", files->mount, group);
    FILE *file = length < (int)sizeof(path) ? fopen(path, "re") : NULL;
    while (file && fscanf(file, "%63s %zu", name, &value) == 2)
        if (!strcmp(name, files->cached))
            cached = value;
    if (file)
        fclose(file);
    return used > cached ? used - cached : 0;
}

/* Identifies a group, whatever name it has in this namespace; 0: unknown. */
static uint64_t memory_group_identity(const struct group_files *files, const char *group)
{
    char path[PATH_MAX];
    struct stat about;
    if (snprintf(path, sizeof(path), "%s%s", files->mount, group) >= (int)sizeof(path) ||
        stat(path, &about) != 0)
        return 0;
    return (uint64_t)about.st_ino ^ (uint64_t)about.st_dev << 32;
}

/* The control group of this process that counts its memory, "/...": of version 1 if that has the
 * controller of memory. NULL: there is none. */
static const struct group_files *memory_group_find(char group[PATH_MAX])
{
    char line[PATH_MAX], controllers[512];
    const struct group_files *found = NULL;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && found != &version_1 && fgets(line, sizeof(line), file)) {
        int at = 0; /* stays 0, where no '/' stands, if the line is not of that form */
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "0::/", 4)) {
            strcpy(group, line + 3);
            found = &version_2;
        } else if (sscanf(line, "%*d:%511[^:]:%n", controllers, &at) == 1 &&
                   strstr(controllers, "memory") && line[at] == '/') {
            strcpy(group, line + at);
            found = &version_1;
        }
    }
    if (file)
        fclose(file);
    return found;
}

/* The limits of the control group of this process and of the groups above it. SIZE_MAX: no limit.
 */
struct memory_group {
    bool known; /* false: version 1 counts memory, and its files are not where they usually are */
    size_t most;
    struct memory_pool scarcest; /* the group that has the least left */
};

/* A long name is shown by its end, which tells groups apart. */
static struct memory_pool memory_group_pool(const struct group_files *files, const char *group,
                                            size_t most, size_t left)
{
    struct memory_pool pool = {.which = memory_group_identity(files, group),
                               .left = left,
                               .is_exact = true,
                               .limit_file = files->most};
    size_t length = strlen(group), shown = length < GROUP_SHOWN ? length : GROUP_SHOWN;
    snprintf(pool.where, sizeof(pool.where),
             "this machine in the control group %s%s, whose limit is %zu MiB",
             shown < length ? "..." : "", length ? group + length - shown : "/", most >> 20);
    return pool;
}

static struct memory_group memory_group_read(void)
{
    struct memory_group limits = {.most = SIZE_MAX, .scarcest.left = SIZE_MAX};
    char group[PATH_MAX];
    bool is_there = false;
    const struct group_files *files = memory_group_find(group);
    if (!files)
        return limits;
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = 0; /* up to the top, which has a limit of its own in a container */
        size_t most = memory_group_number(files, group, files->most, SIZE_MAX, &is_there);
        size_t used = memory_group_used(files, group, &is_there);
        size_t left = most > used ? most - used : 0;
        limits.most = most < limits.most ? most : limits.most;
        if (most < SIZE_MAX && left < limits.scarcest.left)
            limits.scarcest = memory_group_pool(files, group, most, left);
    }
    limits.known = is_there || files == &version_2;
    return limits;
}

bool memory_group_limit(size_t *bytes)
{
    struct memory_group limits = memory_group_read();
    *bytes = limits.most;
    return limits.known;
}

static size_t memory_reserved(size_t bytes)
{
    return bytes == SIZE_MAX ? bytes : bytes > MEMORY_RESERVE ? bytes - MEMORY_RESERVE : 0;
}

void memory_look(struct memory_pool pools[MEMORY_POOLS])
{
    pools[0] = (struct memory_pool){.which = MACHINE,
                                    .left = memory_reserved(memory_free_on_machine()),
                                    .where = "this machine"};
    pools[1] = memory_group_read().scarcest;
}

const struct memory_pool *memory_scarcer(const struct memory_pool pools[MEMORY_POOLS])
{
    return pools[0].left < pools[1].left ? &pools[0] : &pools[1];
}

size_t memory_available(void)
{
    struct memory_pool pools[MEMORY_POOLS];
    memory_look(pools);
    return memory_scarcer(pools)->left;
}
