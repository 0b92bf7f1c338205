/*
 * memory_limits.c - how much memory this process can still get, by /proc and by its control groups.
 */
#include "memory/memory_limits.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MEMORY_RESERVE ((size_t)128 << 20) /* left for other processes of the machine */

#define MACHINE 1 /* memory_pool.which; no file of a control group has this identity */

/* What the machine can still give. */
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
};
static const struct group_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                             "memory.usage_in_bytes"};
static const struct group_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current"};

#define UNLIMITED (SIZE_MAX / 4) /* version 1 writes a number near this where there is no limit */

/* One number of a control group's file; `otherwise` if there is no file or no limit. */
static size_t memory_group_number(const struct group_files *files, const char *group,
                                  const char *name, size_t otherwise, bool *is_there)
{
    char path[PATH_MAX];
    size_t value = otherwise;
    if (snprintf(path, sizeof(path), "%s%s/%s", files->mount, group, name) >= (int)sizeof(path))
        return otherwise;
    FILE *file = fopen(path, "re");
    if (!file)
        return otherwise;
    *is_there = true;
    if (fscanf(file, "%zu", &value) != 1 || value >= UNLIMITED)
        value = otherwise;
    fclose(file);
    return value;
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
    size_t most, left;
    uint64_t which; /* memory_group_identity() of the group that has the least left */
};

static struct memory_group memory_group_read(void)
{
    struct memory_group limits = {.most = SIZE_MAX, .left = SIZE_MAX};
    char group[PATH_MAX];
    bool is_there = false;
    const struct group_files *files = memory_group_find(group);
    if (!files)
        return limits;
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = 0; /* up to the top, which has a limit of its own in a container */
        size_t most = memory_group_number(files, group, files->most, SIZE_MAX, &is_there);
        size_t used = memory_group_number(files, group, files->used, 0, &is_there);
        size_t left = most > used ? most - used : 0;
        limits.most = most < limits.most ? most : limits.most;
        if (left < limits.left) {
            limits.left = left;
            limits.which = memory_group_identity(files, group);
        }
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
    struct memory_group limits = memory_group_read();
    pools[0] = (struct memory_pool){.which = MACHINE,
                                    .left = memory_reserved(memory_free_on_machine()),
                                    .where = "this machine"};
    pools[1] = (struct memory_pool){
        .which = limits.which, .left = memory_reserved(limits.left), .where = "this machine"};
}

size_t memory_available(void)
{
    struct memory_pool pools[MEMORY_POOLS];
    memory_look(pools);
    return pools[0].left < pools[1].left ? pools[0].left : pools[1].left;
}
