/*
 * fit.c - measures what a model needs of the hosts of a job, and fits it.
 */
#include "predict/fit/internal.h"

#include "base/log.h"
#include "collective/collective.h"
#include "host/facts/facts.h"
#include "host/host.h"

#include <hwloc/glibc-sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * On which cores of this host two ranks are near to each other, and on which they are not.
 */
/* The CPUs of a core that the process may use. False: none. */
static bool core_cpus(hwloc_topology_t topology, hwloc_obj_t core, const cpu_set_t *own,
                      cpu_set_t *cpus)
{
    return hwloc_cpuset_to_glibc_sched_affinity(topology, core->cpuset, cpus, sizeof *cpus) == 0 &&
           (CPU_AND(cpus, cpus, own), CPU_COUNT(cpus) > 0);
}

/* *first: the CPUs of the cache's first core. */
static void cache_add(hwloc_topology_t topology, hwloc_obj_t cache, const cpu_set_t *own,
                      struct core_pairs *pairs, cpu_set_t *first)
{
    int cores = 0;
    cpu_set_t cpus;
    for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_inside_cpuset_by_type(
                                       topology, cache->cpuset, HWLOC_OBJ_CORE, core));) {
        if (!core_cpus(topology, core, own, &cpus))
            continue;
        if (cores++ == 0)
            *first = cpus;
        if (cores == 2 && !pairs->has_near) {
            pairs->has_near = true;
            CPU_OR(&pairs->near, first, &cpus);
        }
    }
    pairs->caches += cores > 0;
    pairs->cache_cores = cores > pairs->cache_cores ? cores : pairs->cache_cores;
}

void core_pairs_find(struct core_pairs *pairs)
{
    hwloc_topology_t topology;
    cpu_set_t own;
    *pairs = (struct core_pairs){.caches = 0};
    if (sched_getaffinity(0, sizeof own, &own) == 0 && machine_load(&topology)) {
        bool third = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_L3CACHE) > 0;
        hwloc_obj_type_t type = third ? HWLOC_OBJ_L3CACHE : HWLOC_OBJ_PACKAGE;
        cpu_set_t first, last;
        for (hwloc_obj_t cache = NULL; (cache = hwloc_get_next_obj_by_type(topology, type, cache));)
            cache_add(topology, cache, &own, pairs, pairs->caches == 0 ? &first : &last);
        pairs->has_far = pairs->caches > 1;
        if (pairs->has_far)
            CPU_OR(&pairs->far, &first, &last);
        hwloc_topology_destroy(topology);
    }
    if (pairs->caches == 0)
        *pairs = (struct core_pairs){.caches = 1, .cache_cores = CPU_SETSIZE};
}

/*
 * A line that was measured to fit a model, and what the model says of it.
 */
#define PIECES_MOST 16

static struct choice benchmark_choice(const struct benchmark *benchmark)
{
    struct choice choice = choice_of(benchmark->algorithm);
    const struct algorithm_option *options = benchmark->algorithm->options;
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && options[i].name; i++)
        if (benchmark->window > 0 && strcmp(options[i].name, "window") == 0)
            choice.options[i] = benchmark->window;
    return choice;
}

enum status benchmark_predict(const struct benchmark *benchmark, const struct model *model,
                              double *time, double *first)
{
    static const int apart[] = {0, 1};
    const int far[] = {0, model->cache_cores};
    struct choice choice = benchmark_choice(benchmark);
    struct counts *partners = NULL;
    struct simulated simulated;
    enum status status = STATUS_OK;
    if (benchmark->algorithm->partner)
        status = choice_partners(&choice, benchmark->ranks, &partners);
    if (status != STATUS_OK)
        return status;
    const struct problem problem = {.collective = benchmark->collective,
                                    .ranks = benchmark->ranks,
                                    .count = benchmark->count,
                                    .counts = partners};
    const struct simulation simulation = {.model = model,
                                          .groups = 1,
                                          .choice = &choice,
                                          .problem = &problem,
                                          .channels = 1,
                                          .datatype = benchmark->datatype,
                                          .reduction = benchmark->reduction,
                                          .memory = memory_find("host"),
                                          .transports = benchmark->transports,
                                          .copy = benchmark->copy,
                                          .chunk = GRAIN_AUTO,
                                          .node = benchmark->distance == DISTANCE_NETWORK ? apart
                                                                                          : NULL,
                                          .core = benchmark->distance == DISTANCE_NODE ? far : NULL,
                                          .barrier = benchmark->distance == DISTANCE_NETWORK,
                                          .beside = benchmark->beside,
                                          .pieces = PIECES_MOST};
    status = simulate(&simulation, &simulated);
    counts_free(partners);
    if (status != STATUS_OK)
        return status;
    *time = simulated.time / (benchmark->algorithm->round_trip ? 2 : 1);
    *first = simulated.first;
    return STATUS_OK;
}

/*
 * Measures what a model needs of the hosts of a job.
 */
static void model_label(const struct roster *roster, struct model *model)
{
    time_t now = time(NULL);
    struct tm local;
    char processor[VALUE_TEXT_MOST];
    snprintf(model->host, sizeof model->host, "%s", roster->hosts[0].name);
    cpu_model_read("", processor);
    snprintf(model->processor, sizeof model->processor, "%s", processor);
    strftime(model->made, sizeof model->made, "%Y-%m-%d %H:%M", localtime_r(&now, &local));
}

static enum status coordinate(const struct membership *membership,
                              const struct fit_arguments *arguments)
{
    struct coordinator *coordinator = NULL;
    struct fit_measurements measurements = {0};
    struct model *model = calloc(1, sizeof *model);
    enum status status = model ? coordinator_open(membership, &arguments->agents, &coordinator)
                               : fail(STATUS_ERROR, "out of memory for a model");
    if (status == STATUS_OK)
        status = arguments->begin(arguments->argument);
    if (status == STATUS_OK) {
        model_label(coordinator_roster(coordinator), model);
        status = measurements_make(coordinator, arguments->job, arguments->options,
                                   &arguments->progress, &measurements);
    }
    if (status == STATUS_OK)
        status = model_fit(&measurements, model);
    if (status == STATUS_OK)
        status = arguments->take(arguments->argument, &measurements, model);
    log_print_failure(log_current());
    measurements_free(&measurements);
    coordinator_close(coordinator, status);
    free(model);
    return status;
}

enum status fit_run(const struct membership *membership, void *argument)
{
    const struct fit_arguments *arguments = argument;
    if (membership->rank == 0)
        return coordinate(membership, arguments);
    enum status status = follower_run(membership, &arguments->agents);
    log_print_failure(log_current());
    return status;
}
