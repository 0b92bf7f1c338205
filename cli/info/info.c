/*
 * info.c - `cctest info`: what this machine has, and what cctest would use.
 *
 * Gathers everything into one JSON document; the text output is printed from that document.
 */
#include <hwloc.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "base/log.h"
#include "base/text.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "cli/commands.h"
#include "cli/info/internal.h"
#include "base/io/io.h"
#include "host/host.h"

struct host_facts {
    const char *name, *system;
    unsigned long memory, free_memory; /* bytes */
};

const struct json_field this_host_fields[] = {
    {"name", "name", "name of the host", JSON_MEMBER(struct host_facts, name)},
    {"system", "name", "kernel and machine", JSON_MEMBER(struct host_facts, system)},
    {"memory_bytes", "positive", "bytes of memory", JSON_MEMBER(struct host_facts, memory)},
    {"free_memory_bytes", "count", "bytes of memory that nothing uses, not even file caches",
     JSON_MEMBER(struct host_facts, free_memory)},
    {0},
};

static json_t *host_facts(void)
{
    struct utsname names = {0};
    struct sysinfo memory = {0};
    char system[sizeof names];
    uname(&names);
    sysinfo(&memory);
    snprintf(system, sizeof system, "%s %s %s", names.sysname, names.release, names.machine);
    const struct host_facts facts = {names.nodename, system, memory.totalram * memory.mem_unit,
                                     memory.freeram * memory.mem_unit};
    return json_object_of(this_host_fields, &facts, NULL);
}

static json_t *topology_facts(void)
{
    json_t *facts = json_object();
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) == 0) {
        if (hwloc_topology_load(topology) == 0) {
            static const struct {
                const char *name;
                hwloc_obj_type_t type;
            } levels[] = {
                {"sockets", HWLOC_OBJ_PACKAGE},
                {"numa_nodes", HWLOC_OBJ_NUMANODE},
                {"cores", HWLOC_OBJ_CORE},
                {"hardware_threads", HWLOC_OBJ_PU},
            };
            for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
                json_object_set_new(
                    facts, levels[i].name,
                    json_integer(hwloc_get_nbobjs_by_type(topology, levels[i].type)));
        }
        hwloc_topology_destroy(topology);
    }
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0)
        json_object_set_new(facts, "usable_here", json_integer(CPU_COUNT(&mask)));
    return facts;
}

/* A transport, a kind of memory, or a vendor's library. */
struct available_item {
    const char *name, *summary;
    bool available;
    const char *why_not; /* NULL: it is available */
};

const struct json_field available_fields[] = {
    {"name", "name", "name of the transport, kind of memory or library",
     JSON_MEMBER(struct available_item, name)},
    {"summary", "name", "description in one line", JSON_MEMBER(struct available_item, summary)},
    {"available", "boolean", "can it be used here?", JSON_MEMBER(struct available_item, available)},
    {"why_not", "name?", "null: it can", JSON_MEMBER(struct available_item, why_not)},
    {0},
};

/* `why`: it cannot be used; NULL: it can. */
static void available_add(json_t *list, const char *name, const char *summary, const char *why)
{
    const struct available_item item = {name, summary, !why, why};
    json_array_append_new(list, json_object_of(available_fields, &item, NULL));
}

static json_t *transport_facts(void)
{
    json_t *list = json_array();
    for (int i = 0; transports[i]; i++)
        available_add(list, transports[i]->name, transports[i]->summary,
                      transports[i]->unavailable ? transports[i]->unavailable() : NULL);
    return list;
}

static json_t *memory_facts(void)
{
    json_t *list = json_array();
    for (int i = 0; memory_kinds[i]; i++)
        available_add(list, memory_kinds[i]->name, memory_kinds[i]->summary,
                      memory_kinds[i]->unavailable ? memory_kinds[i]->unavailable() : NULL);
    return list;
}

static json_t *vendor_facts(void)
{
    json_t *list = json_array();
    for (int i = 0; vendors[i]; i++) {
        char text[VENDOR_WHY_MOST], version[32], summary[128];
        const char *why = vendors[i]->unavailable(text);
        vendors[i]->version(version, sizeof version);
        snprintf(summary, sizeof summary, "%s%s%s, to compare with", vendors[i]->title,
                 version[0] ? " " : "", version);
        available_add(list, vendors[i]->name, summary, why);
    }
    return list;
}

static json_t *name_facts(const struct name_table *table)
{
    const struct names names = table_names(table);
    return json_strings(names.valid, NAMED_MOST);
}

/* If no bootstrap can be used, `why` says so; the other facts are shown all the same. */
static enum status bootstrap_facts(const struct job *job, json_t **facts)
{
    struct bootstrap bootstrap;
    enum status status = bootstrap_choose(&job->bootstrap, &bootstrap);
    bool local = bootstrap.kind == BOOTSTRAP_LOCAL;
    if (status != STATUS_OK) {
        *facts = json_pack("{s:n, s:s, s:n}", "name", "why", log_current()->failure.text, "ranks");
    } else {
        int ranks = local ? local_ranks(&job->bootstrap) : bootstrap.launch.ranks;
        *facts = json_pack("{s:s, s:s, s:i}", "name", bootstrap.name, "why", bootstrap.why, "ranks",
                           ranks);
    }
    bootstrap_close(&bootstrap);
    char text[200];
    bool loads = pmix_library(text, sizeof text);
    json_object_set_new(*facts, "pmix",
                        json_pack("{s:b, s:s?, s:s?}", "available", loads, "version",
                                  loads ? text : NULL, "why_not", loads ? NULL : text));
    return status;
}

/* Numbers below 0: there is no limit. */
struct process_limits {
    long open_files, processes, address_space, locked_memory, ptrace_scope;
};

static long limit_of(int resource)
{
    struct rlimit limit;
    bool limits = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limits ? (long)limit.rlim_cur : -1;
}

static long ptrace_scope(void)
{
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
    long value;
    bool known = file && fscanf(file, "%ld", &value) == 1;
    if (file)
        fclose(file);
    return known ? value : -1;
}

/* The memory limit of the cgroup; null: none. */
static json_t *group_limit(const void *object, const void *context)
{
    size_t bytes;
    (void)object;
    (void)context;
    if (!memory_group_limit(&bytes))
        return json_string("unknown");
    return bytes < SIZE_MAX ? json_integer((json_int_t)bytes) : json_null();
}

const struct json_field limit_fields[] = {
    {"open_files", "count?", "open files", JSON_MEMBER(struct process_limits, open_files)},
    {"processes", "count?", "processes of the user", JSON_MEMBER(struct process_limits, processes)},
    {"address_space_bytes", "count?", "bytes of address space",
     JSON_MEMBER(struct process_limits, address_space)},
    {"locked_memory_bytes", "count?", "bytes of locked memory; RDMA pins slots and buffers",
     JSON_MEMBER(struct process_limits, locked_memory)},
    {"memory_cgroup_bytes", "count_or_unknown",
     "bytes of memory of its control groups; unknown: the system does not tell",
     JSON_MADE(group_limit)},
    {"yama_ptrace_scope", "count?", "above 1 no rank reads private memory of another",
     JSON_MEMBER(struct process_limits, ptrace_scope)},
    {0},
};

static json_t *limit_facts(void)
{
    const struct process_limits limits = {limit_of(RLIMIT_NOFILE), limit_of(RLIMIT_NPROC),
                                          limit_of(RLIMIT_AS), limit_of(RLIMIT_MEMLOCK),
                                          ptrace_scope()};
    return json_object_of(limit_fields, &limits, NULL);
}

/* The text. */

static const char *word(const json_t *facts, const char *key)
{
    const char *text = json_string_value(json_object_get(facts, key));
    return text ? text : "unknown";
}

static void print_available(const json_t *item)
{
    bool available = json_is_true(json_object_get(item, "available"));
    printf("  %-10s %s%s\n", word(item, "name"),
           available ? "" : "not here: ", word(item, available ? "summary" : "why_not"));
}

/* "2 cores, " */
static void print_number(const json_t *facts, const char *key, const char *what, const char *end)
{
    long long value = whole_of(facts, key);
    printf("%lld %s%s%s", value, what, plural(value), end);
}

static void print_names(const char *title, const json_t *names)
{
    printf("%-12s", title);
    for (size_t i = 0; i < json_array_size(names); i++)
        printf("%s%s", i ? ", " : "", json_string_value(json_array_get(names, i)));
    putchar('\n');
}

static void print_machine(const json_t *document)
{
    const json_t *host = json_object_get(document, "host");
    const json_t *topology = json_object_get(document, "topology");
    printf("cctest      %s\n", word(document, "version"));
    printf("host        %s, %s\n", word(host, "name"), word(host, "system"));
    printf("processors  %lld usable here, of ", whole_of(topology, "usable_here"));
    print_number(topology, "hardware_threads", "hardware thread", ", ");
    print_number(topology, "cores", "core", ", ");
    print_number(topology, "sockets", "socket", ", ");
    print_number(topology, "numa_nodes", "NUMA node", "\n");
    printf("memory      %.1f GiB, %.1f GiB free\n",
           (double)whole_of(host, "memory_bytes") / (1 << 30),
           (double)whole_of(host, "free_memory_bytes") / (1 << 30));
}

static void print_limits(const json_t *facts)
{
    static const struct {
        const char *title, *use;
    } lines[] = {
        /* as limit_fields has them */
        {"open files", "tcp needs one per peer, shm one per rank"},
        {"processes", "one per local rank"},
        {"address space", "bytes"},
        {"locked memory", "bytes (ulimit -l, limits.conf); RDMA pins slots and buffers"},
        {"memory of the cgroup", "bytes; shared segments (memfd) count too"},
        {"yama ptrace_scope", "at 2 only root, at 3 no process reads private memory (shm zcopy)"},
    };
    _Static_assert(sizeof lines / sizeof *lines == sizeof limit_fields / sizeof *limit_fields - 1,
                   "each limit has a line");
    puts("limits");
    for (size_t i = 0; limit_fields[i].key; i++) {
        const json_t *value = json_object_get(facts, limit_fields[i].key);
        char text[32] = "none";
        if (json_is_string(value))
            snprintf(text, sizeof text, "%s", json_string_value(value));
        else if (json_is_integer(value))
            snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        printf("  %-22s %-20s %s\n", lines[i].title, text, lines[i].use);
    }
}

static void print_facts(const json_t *document)
{
    const json_t *bootstrap = json_object_get(document, "bootstrap");
    size_t index;
    json_t *item;
    print_machine(document);
    const json_t *pmix = json_object_get(bootstrap, "pmix");
    printf("ranks       %s", word(bootstrap, "why"));
    if (json_is_integer(json_object_get(bootstrap, "ranks"))) {
        printf(" (");
        print_number(bootstrap, "ranks", "rank", ")");
    }
    if (json_is_true(json_object_get(pmix, "available")))
        printf("\npmix        %s", word(pmix, "version"));
    else
        printf("\npmix        not here: %s", word(pmix, "why_not"));
    puts("\ntransports");
    json_array_foreach(json_object_get(document, "transports"), index, item) print_available(item);
    devices_print(document);
    puts("memory kinds");
    json_array_foreach(json_object_get(document, "memory_kinds"), index, item)
        print_available(item);
    puts("vendors' libraries");
    json_array_foreach(json_object_get(document, "vendors"), index, item) print_available(item);
    print_names("datatypes", json_object_get(document, "datatypes"));
    print_names("operations", json_object_get(document, "operations"));
    print_limits(json_object_get(document, "limits"));
    topology_print(document);
}

/* hwloc reads another host's files where this variable names their root (hwloc-gather-topology). */
static const char *sysfs_of_topology(char path[SYSFS_PATH_MOST])
{
    const char *root = getenv("HWLOC_FSROOT");
    snprintf(path, SYSFS_PATH_MOST, "%s/sys", root ? root : "");
    return path;
}

enum status info_command(const struct command_line *line, struct request *request)
{
    (void)line;
    char path[SYSFS_PATH_MOST];
    json_t *bootstrap;
    enum status found = bootstrap_facts(&request->job, &bootstrap), status = STATUS_OK;
    json_t *document = json_document();
    json_object_set_new(document, "host", host_facts());
    json_object_set_new(document, "topology", topology_facts());
    json_object_set_new(document, "bootstrap", bootstrap);
    json_object_set_new(document, "transports", transport_facts());
    const struct device_sources sources = {.transports = transports,
                                           .kinds = memory_kinds,
                                           .sysfs = "/sys",
                                           .patience = request->job.bootstrap.timeout};
    status = devices_add(document, &sources);
    if (request->predict.shows_topology)
        topology_add(document, sysfs_of_topology(path));
    json_object_set_new(document, "memory_kinds", memory_facts());
    devices_judge(document, &sources);
    json_object_set_new(document, "vendors", vendor_facts());
    json_object_set_new(document, "datatypes", name_facts(&datatype_table));
    json_object_set_new(document, "operations", name_facts(&reduction_table));
    json_object_set_new(document, "limits", limit_facts());
    if (!request->files.json || strcmp(request->files.json, "-") != 0)
        print_facts(document);
    if (request->files.json)
        status = status_worse(status, json_put(document, request->files.json));
    json_decref(document);
    return status_worse(status, found);
}
