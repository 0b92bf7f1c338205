/*
 * host_facts.c - the facts of a host itself.
 *
 *     /proc/cpuinfo, /sys/devices/system/cpu/      CPUs
 *     /proc/meminfo, /sys/devices/system/node/     memory
 *     /sys/devices/system/edac/mc/                 errors that memory has had
 *     /proc/sys/kernel, /etc/os-release, /sys/module, /proc/self/limits
 */
#include "host/facts/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/text.h"

#define FILE_MOST ((size_t)1 << 16)
#define CPU       "%s/sys/devices/system/cpu"

/* The value behind "model name  : " in a text; "" if there is none. */
static void line_behind(const char *text, const char *word, char *value, size_t size)
{
    const char *at = strstr(text, word);
    at = at ? at + strlen(word) + strspn(at + strlen(word), " \t:=\"") : "";
    snprintf(value, size, "%.*s", (int)strcspn(at, "\n\""), at);
}

void cpu_model_read(const char *root, char model[VALUE_TEXT_MOST])
{
    char *text = sysfs_whole(FILE_MOST, "%s/proc/cpuinfo", root);
    char implementer[16], part[16];
    model[0] = '\0';
    if (text)
        line_behind(text, "model name", model, VALUE_TEXT_MOST);
    if (text && !model[0]) {
        line_behind(text, "CPU implementer", implementer, sizeof implementer);
        line_behind(text, "CPU part", part, sizeof part);
        if (implementer[0])
            snprintf(model, VALUE_TEXT_MOST, "implementer %s part %s", implementer, part);
    }
    free(text);
}

/* All CPUs that are online. */
struct cpu_sum {
    int threads, cores, sockets;     /* a core is counted at its first thread, likewise a socket */
    uint64_t limit, best;            /* kHz, of the CPU with the lowest limit */
    char governors[VALUE_TEXT_MOST]; /* each once */
};

/* Is this the first CPU of a list such as "0-3,64"? */
static bool is_first(const char *root, const char *cpu, const char *list)
{
    uint64_t first;
    char text[64];
    if (!sysfs_text(text, sizeof text, CPU "/%s/topology/%s", root, cpu, list))
        return false;
    text[strcspn(text, ",-")] = 0;
    first = strtoull(text, NULL, 10);
    return first == strtoull(cpu + 3, NULL, 10);
}

static void governor_note(struct cpu_sum *sum, const char *governor)
{
    struct text governors = text_after(sum->governors, sizeof sum->governors);
    if (!strstr(sum->governors, governor))
        text_add(&governors, "%s%s", governors.used ? ", " : "", governor);
}

static void cpu_sum_add(const char *root, const char *cpu, struct cpu_sum *sum)
{
    uint64_t limit, best;
    char governor[32];
    sum->threads++;
    sum->cores += is_first(root, cpu, "thread_siblings_list");
    sum->sockets += is_first(root, cpu, "core_siblings_list");
    if (sysfs_number(&limit, CPU "/%s/cpufreq/scaling_max_freq", root, cpu) &&
        sysfs_number(&best, CPU "/%s/cpufreq/cpuinfo_max_freq", root, cpu) &&
        (sum->limit == 0 || limit < sum->limit)) {
        sum->limit = limit;
        sum->best = best;
    }
    if (sysfs_text(governor, sizeof governor, CPU "/%s/cpufreq/scaling_governor", root, cpu))
        governor_note(sum, governor);
}

void cpu_facts(struct fact_look *look)
{
    const char *root = look->source.root;
    struct cpu_sum sum = {0};
    char **names, smt[32], model[VALUE_TEXT_MOST];
    uint64_t throttles;
    inquiry_asks(&look->inquiry, "the", "CPUs", "");
    cpu_model_read(root, model);
    look_text(look, "", "cpu.model", model);
    int count = sysfs_names(&names, CPU, root);
    for (int i = 0; i < count; i++) {
        uint64_t online;
        bool known = sysfs_number(&online, CPU "/%s/online", root, names[i]);
        if (strncmp(names[i], "cpu", 3) == 0 && strspn(names[i] + 3, "0123456789") > 0 &&
            (!known || online))
            cpu_sum_add(root, names[i], &sum);
    }
    sysfs_names_free(names, count);
    if (sum.threads > 0)
        look_number(look, "", "cpu.threads", sum.threads, 0);
    if (sum.cores > 0)
        look_number(look, "", "cpu.cores", sum.cores, 0);
    if (sum.sockets > 0)
        look_number(look, "", "cpu.sockets", sum.sockets, 0);
    look_text(look, "", "cpu.governor", sum.governors);
    if (sum.limit > 0)
        look_number(look, "", "cpu.clock_limit", (double)(sum.limit / 1000),
                    (double)(sum.best / 1000));
    if (sysfs_text(smt, sizeof smt, CPU "/smt/control", root))
        look_text(look, "", "cpu.smt", smt);
    if (cpu_throttles_read(look->sysfs, &throttles))
        look_number(look, "", "cpu.throttled", (double)throttles, 0);
}

/* kB of a file such as meminfo, as bytes. */
static void memory_number(struct fact_look *look, const char *text, const char *word,
                          const char *key)
{
    uint64_t number;
    if (text && sysfs_number_behind(text, word, &number))
        look_number(look, "", key, (double)number * 1024, 0);
}

static void nodes_add(struct fact_look *look)
{
    char **names;
    int nodes = 0, count = sysfs_names(&names, "%s/devices/system/node", look->sysfs);
    for (int i = 0; i < count; i++) {
        uint64_t number;
        char *text =
            strncmp(names[i], "node", 4) == 0
                ? sysfs_whole(FILE_MOST, "%s/devices/system/node/%s/meminfo", look->sysfs, names[i])
                : NULL;
        nodes += text != NULL;
        if (text && sysfs_number_behind(text, "MemTotal:", &number))
            inventory_add_number(&look->inventory, PART_NUMA, names[i], "memory",
                                 (double)number * 1024, 0);
        free(text);
    }
    sysfs_names_free(names, count);
    if (nodes > 0)
        look_number(look, "", "numa.count", nodes, 0);
}

static void errors_add(struct fact_look *look)
{
    struct memory_errors errors;
    if (!memory_errors_read(look->sysfs, &errors))
        return;
    look_number(look, "", "edac.corrected", (double)errors.corrected, 0);
    look_number(look, "", "edac.uncorrected", (double)errors.uncorrected, 0);
}

void memory_facts(struct fact_look *look)
{
    const char *root = look->source.root;
    char path[SYSFS_PATH_MOST], huge[64];
    uint64_t pages;
    struct statvfs shm;
    inquiry_asks(&look->inquiry, "the", "memory", "");
    char *text = sysfs_whole(FILE_MOST, "%s/proc/meminfo", root);
    memory_number(look, text, "MemTotal:", "memory.bytes");
    memory_number(look, text, "MemAvailable:", "memory.available");
    if (text && sysfs_number_behind(text, "HugePages_Total:", &pages))
        look_number(look, "", "memory.huge_pages", (double)pages, 0);
    free(text);
    if (sysfs_text(huge, sizeof huge, "%s/kernel/mm/transparent_hugepage/enabled", look->sysfs) &&
        strchr(huge, '[')) { /* "always [madvise] never" */
        const char *chosen = strchr(huge, '[') + 1;
        huge[strcspn(huge, "]")] = 0;
        look_text(look, "", "memory.transparent_huge_pages", chosen);
    }
    nodes_add(look);
    errors_add(look);
    inquiry_asks(&look->inquiry, "file system", "/dev/shm", "");
    snprintf(path, sizeof path, "%s/dev/shm", root);
    if (statvfs(path, &shm) != 0)
        return;
    double size = (double)shm.f_blocks * (double)shm.f_frsize;
    look_number(look, "", "shm.bytes", size, 0);
    look_number(look, "", "shm.free", (double)shm.f_bavail * (double)shm.f_frsize, size);
}

/* "Max locked memory  65536  65536  bytes": the first of both is the one that holds. */
static void limit_add(struct fact_look *look, const char *text, const char *word, const char *key)
{
    uint64_t number;
    const char *at = text ? strstr(text, word) : NULL;
    at = at ? at + strlen(word) : NULL;
    if (at && strncmp(at + strspn(at, " "), "unlimited", 9) == 0)
        look_number(look, "", key, INFINITY, 0);
    else if (at && sysfs_number_behind(text, word, &number))
        look_number(look, "", key, (double)number, 0);
}

static void modules_add(struct fact_look *look)
{
    char **names;
    int count = sysfs_names(&names, "%s/module", look->sysfs);
    for (const struct fact_rule *rule = fact_rules; rule->key && count > 0; rule++) {
        char version[64], state[32];
        if (strncmp(rule->key, "module.", 7) != 0)
            continue;
        bool is_loaded = false;
        for (int i = 0; i < count && !is_loaded; i++)
            is_loaded = strcmp(names[i], rule->key + 7) == 0;
        bool told =
            sysfs_text(version, sizeof version, "%s/module/%s/version", look->sysfs, rule->key + 7);
        /* A module that is built into the kernel has no state. */
        sysfs_text(state, sizeof state, "%s/module/%s/initstate", look->sysfs, rule->key + 7);
        look_text(look, "", rule->key,
                  !is_loaded                               ? NOT_LOADED
                  : state[0] && strcmp(state, "live") != 0 ? state
                  : told                                   ? version
                                                           : "loaded");
    }
    sysfs_names_free(names, count);
}

void system_facts(struct fact_look *look)
{
    const char *root = look->source.root;
    char text[VALUE_TEXT_MOST];
    inquiry_asks(&look->inquiry, "the", "kernel", "");
    if (sysfs_text(text, sizeof text, "%s/proc/sys/kernel/osrelease", root))
        look_text(look, "", "kernel", text);
    char *release = sysfs_whole(FILE_MOST, "%s/etc/os-release", root);
    if (release) {
        line_behind(release, "PRETTY_NAME", text, sizeof text);
        look_text(look, "", "os", text);
    }
    free(release);
    char *limits = sysfs_whole(FILE_MOST, "%s/proc/self/limits", root);
    limit_add(look, limits, "Max locked memory", "limit.memlock");
    limit_add(look, limits, "Max open files", "limit.files");
    free(limits);
    modules_add(look);
}
