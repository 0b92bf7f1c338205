/*
 * measure.c - the benchmarks from which a model is fitted.
 *
 * Two ranks tell what messages cost: pingpong has latency and all overheads in sequence, bidir both
 * ends of a message on each core, uni the sender's end alone (rank 0 ends when its last message has
 * left), and a window of messages what each further one costs.
 */
#include "predict/fit/internal.h"

#include <errno.h>
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/text.h"
#include "host/facts/facts.h"
#include "base/stats/stats.h"

#define JOB_SECONDS  60.0
#define LINE_BUDGET  0.12 /* seconds, of --budget */
#define ALL_SECONDS  60.0 /* after which the jobs do not begin anew */
#define JOBS_MOST    128  /* more than 16 rails and all transports of this build need */
#define RAILS_FITTED 16   /* of the NIC ports of a host, at most */
#define TYPES        "float,double,float16,bfloat16,int8,int32,int64"

/* The lines that the jobs of each subject run. */
static const struct fit_measurement job_kinds[] = {
    [SUBJECT_ALONE] = {.lines = "allgather -a ring -b 64", .most = 64 << 20, .step = 8},
    [SUBJECT_BUS] = {.lines = "allgather -a ring --split 1 -b 64", .most = 16 << 20, .step = 8},
    [SUBJECT_PROBE] = {.lines = "sendrecv -a pingpong -b 256K", .most = 256 << 10, .step = 2},
    [SUBJECT_LINK] = {.lines = "sendrecv -a pingpong,bidir,uni:window=4,bidir:window=4 -b 8",
                      .most = 16 << 20,
                      .step = 8},
    [SUBJECT_COMBINE] = {.lines = "reduce -a linear -d " TYPES " -b 4K",
                         .most = 16 << 20,
                         .step = 64},
    [SUBJECT_CROWD] = {.lines = "allgather,alltoall,broadcast -a ring,pairwise,linear -b 32",
                       .most = 128,
                       .step = 4},
    [SUBJECT_SHARING] = {.lines = "allgather,alltoall -a ring,pairwise -b 4K",
                         .most = 1 << 20,
                         .step = 16},
};
#define LINK_RUNS    60  /* iterations of a link's job at each size */
#define LINK_SECONDS 4.0 /* that its job may take for the longest messages */

static struct fit_measurement *measurement_add(struct fit_measurements *measurements,
                                               enum fit_subject subject,
                                               const struct transport_choice *transport,
                                               const struct path_range *range)
{
    struct fit_measurement *measurement = &measurements->items[measurements->count];
    if (measurements->count == JOBS_MOST)
        return NULL;
    measurements->count++;
    *measurement = job_kinds[subject];
    measurement->subject = subject;
    if (transport)
        measurement->transports[0] = *transport;
    if (range) {
        measurement->path = range->path;
        measurement->copy = range->copy;
    }
    return measurement;
}

/* Through this NIC port alone, if there is one. */
static void measurement_take_rail(struct fit_measurement *measurement, const char *rail)
{
    if (rail)
        nic_port_take(&measurement->transports[0], rail, measurement->rail);
}

/* A job for each path of a transport. A path that takes short messages only has a job of such. */
static void paths_plan(struct fit_measurements *measurements, enum fit_subject subject,
                       const struct transport_choice *transport, enum rank_distance distance,
                       const char *rail)
{
    const struct path_range *ranges = transport->transport->path_ranges;
    const int count = transport->transport->path_range_count;
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && ranges[end].path == ranges[i].path;)
            end++;
        size_t most = ranges[end - 1].most;
        if (subject == SUBJECT_SHARING && most > 0)
            continue; /* its bytes are too few to cost anything */
        struct fit_measurement *added =
            measurement_add(measurements, subject, transport, &ranges[i]);
        if (!added)
            return;
        added->distance = distance;
        measurement_take_rail(added, rail);
        if (most > 0 && most < added->most) {
            added->most = most;
            added->step = 4;
        }
    }
}

static bool is_available(const struct transport *transport)
{
    return !transport->unavailable || !transport->unavailable();
}

/* A transport between two ranks at a distance, and before it how fast it is. `rail`: a NIC port;
 * NULL: any. */
static void link_plan(struct fit_measurements *measurements,
                      const struct transport_choice *transport, enum rank_distance distance,
                      const char *rail)
{
    struct fit_measurement *probe = measurement_add(measurements, SUBJECT_PROBE, transport, NULL);
    if (!probe)
        return;
    probe->distance = distance;
    measurement_take_rail(probe, rail);
    paths_plan(measurements, SUBJECT_LINK, transport, distance, rail);
}

/* The NIC ports of this host, if it has several and the job may use them. */
struct fit_rails {
    struct inventory inventory; /* has the names */
    const char *names[RAILS_MOST];
    int count;
};

static void fit_rails_find(const struct job *job, struct fit_rails *rails)
{
    const struct transport_choice *choice = nic_port_choice(job->transports);
    char host[HOST_NAME_BYTES];
    *rails = (struct fit_rails){.count = 0};
    if (!choice || !is_available(choice->transport))
        return;
    host_name(host, sizeof host);
    struct inventory_source source = inventory_here(host);
    source.asks_nvml = false; /* workers are forked after this */
    inventory_collect(&source, &rails->inventory);
    rails->count = nic_ports_find(job->transports, &rails->inventory, 1, rails->names);
    rails->count = rails->count > RAILS_FITTED ? RAILS_FITTED : rails->count;
}

/* A transport between two hosts: each rail by itself. */
static void network_plan(struct fit_measurements *measurements, const struct job *job,
                         const struct fit_rails *rails, const struct transport_choice *transport)
{
    if (rails->count < 2 || transport != nic_port_choice(job->transports)) {
        link_plan(measurements, transport, DISTANCE_NETWORK, NULL);
        return;
    }
    for (int r = 0; r < rails->count; r++)
        link_plan(measurements, transport, DISTANCE_NETWORK, rails->names[r]);
}

static void measurements_plan(struct fit_measurements *measurements, const struct job *job,
                              int hosts)
{
    struct fit_rails rails = {.count = 0};
    if (hosts > 1)
        fit_rails_find(job, &rails);
    measurement_add(measurements, SUBJECT_ALONE, NULL, NULL);
    if (measurements->cores > 1)
        measurement_add(measurements, SUBJECT_BUS, NULL, NULL);
    for (const struct transport_choice *choice = job->transports; choice->transport; choice++) {
        if (!is_available(choice->transport))
            continue;
        if (measurements->pairs.has_near || !measurements->pairs.has_far)
            link_plan(measurements, choice, DISTANCE_CACHE, NULL);
        if (measurements->pairs.has_far)
            link_plan(measurements, choice, DISTANCE_NODE, NULL);
        if (hosts > 1 && !choice->transport->local)
            network_plan(measurements, job, &rails, choice);
    }
    measurement_add(measurements, SUBJECT_COMBINE, NULL, NULL);
    measurement_add(measurements, SUBJECT_CROWD, NULL, NULL);
    for (const struct transport_choice *choice = job->transports; choice->transport; choice++)
        if (is_available(choice->transport))
            paths_plan(measurements, SUBJECT_SHARING, choice, DISTANCE_CACHE, NULL);
    inventory_free(&rails.inventory);
}

/* The probe that has shown how fast a link is: the last one before. NULL: it is no measurement of a
 * link. */
static const struct fit_measurement *probe_of(const struct fit_measurement *measurement)
{
    if (measurement->subject != SUBJECT_LINK)
        return NULL;
    while (measurement->subject != SUBJECT_PROBE)
        measurement--;
    return measurement;
}

/* A link that is slow is measured with shorter messages. */
static size_t measurement_most(const struct fit_measurement *measurement)
{
    const struct fit_measurement *probe = probe_of(measurement);
    size_t most = measurement->most;
    if (!probe)
        return most;
    const struct benchmark *line = &probe->benchmarks[0];
    while (most > line->bytes &&
           LINK_RUNS * line->time * 1e-6 * (double)(most / line->bytes) > LINK_SECONDS)
        most /= (size_t)measurement->step;
    return most;
}

/* A line of a job's JSON. False: it is none that a benchmark can be made of. */
static bool benchmark_read(const struct fit_measurement *measurement, const json_t *line,
                           const struct transport_choice *links, struct benchmark *benchmark)
{
    const char *algorithm = word_of(line, "algorithm"), *reduction = word_of(line, "op");
    const json_t *time = json_object_get(line, "time_us");
    const json_t *rank0 = json_array_get(json_object_get(line, "samples"), 0);
    const json_t *interval = json_object_get(line, "median_interval");
    *benchmark = (struct benchmark){
        .collective = collective_find(word_of(line, "collective")),
        .datatype = datatype_find(word_of(line, "datatype")),
        .reduction = *reduction ? reduction_find(reduction) : NULL,
        .transports = links,
        .copy = measurement->copy,
        .window = (int)whole_of(json_object_get(line, "algorithm_options"), "window"),
        .ranks = (int)whole_of(line, "ranks"),
        .distance = measurement->distance,
        .count = (size_t)whole_of(line, "count"),
        .bytes = (size_t)whole_of(line, "bytes"),
        .time = number_of(time, "p50"),
        .noise = json_number_value(json_object_get(interval, "margin")),
    };
    if (measurement->subject == SUBJECT_BUS) {
        benchmark->beside = benchmark->ranks - 1;
        benchmark->ranks = 1;
    }
    if (!benchmark->collective || !benchmark->datatype || benchmark->ranks < 1)
        return false;
    benchmark->algorithm = algorithm_find(benchmark->collective->id, algorithm);
    if (strcmp(algorithm, "uni") == 0)
        benchmark->first = json_number_value(json_object_get(rank0, "p50_us"));
    return benchmark->algorithm && benchmark->count > 0 && benchmark->time > 0;
}

/* Another job has run. The one with the most lines counts, and those that have as many: a job with
 * fewer has ended early. */
static void passes_add(struct fit_measurement *measurement, struct benchmark *found, int count)
{
    if (count > measurement->count) {
        free(measurement->benchmarks);
        measurement->benchmarks = found;
        measurement->count = count;
        measurement->passes = 0;
    }
    if (count > 0 && count == measurement->count) {
        for (int i = 0; i < count; i++) {
            measurement->benchmarks[i].times[measurement->passes] = found[i].time;
            measurement->benchmarks[i].firsts[measurement->passes] = found[i].first;
        }
        measurement->passes++;
    }
    if (measurement->benchmarks != found)
        free(found);
}

/* From the links of a job's JSON. */
static void core_latency_read(const json_t *links, struct core_latency *latency)
{
    const json_t *link;
    size_t index;
    json_array_foreach(links, index, link)
    {
        const json_t *one_way = json_object_get(link, "one_way_ns");
        core_latency_add(latency, json_number_value(json_object_get(one_way, "least")),
                         json_number_value(json_object_get(one_way, "most")));
    }
}

enum status measurement_read(const struct job *job, const struct fleet_outcome *outcome,
                             struct fit_measurement *measurement)
{
    json_t *document = outcome->result ? json_loads(outcome->result, 0, NULL) : NULL;
    const json_t *lines = json_object_get(document, "results"), *line;
    const json_t *error = json_array_get(json_object_get(document, "errors"), 0);
    const struct transport_choice *links =
        measurement->transports[0].transport ? measurement->transports : job->transports;
    size_t index;
    struct benchmark *found = calloc(json_array_size(lines) + 1, sizeof *found);
    int count = 0;
    json_array_foreach(lines, index, line) if (found && benchmark_read(measurement, line, links,
                                                                       &found[count])) count++;
    if (found)
        passes_add(measurement, found, count);
    core_latency_read(json_object_get(document, "links"), &measurement->core);
    const char *host = word_of(error, "host");
    if (measurement->count == 0 && error)
        snprintf(measurement->why, sizeof measurement->why, "%s%s%s", host, *host ? ": " : "",
                 word_of(error, "message"));
    else if (measurement->count == 0)
        snprintf(measurement->why, sizeof measurement->why, "its workers ended without a result");
    json_decref(document);
    return found ? STATUS_OK : fail(STATUS_ERROR, "out of memory for benchmarks");
}

static void medians_take(struct fit_measurement *measurement)
{
    for (int i = 0; i < measurement->count; i++) {
        struct benchmark *benchmark = &measurement->benchmarks[i];
        benchmark->time = median_of(benchmark->times, (size_t)measurement->passes);
        benchmark->first =
            benchmark->first > 0 ? median_of(benchmark->firsts, (size_t)measurement->passes) : 0;
    }
}

/* Ranks that it starts on its host; 0: its agents' workers are its ranks. */
static int measurement_np(const struct fit_measurement *measurement, int cores)
{
    switch (measurement->subject) {
    case SUBJECT_ALONE:
        return 1;
    case SUBJECT_BUS:
        return cores;
    case SUBJECT_CROWD:
    case SUBJECT_SHARING:
        return 2 * cores;
    default:
        return measurement->distance == DISTANCE_NETWORK ? 0 : 2;
    }
}

/* A measurement that runs. */
struct under_way {
    const struct fit_progress *progress;
    int index, count;
};

static void measurement_progress(void *argument, int ended, int count)
{
    const struct under_way *now = argument;
    (void)ended, (void)count;
    now->progress->call(now->progress->argument, now->index, now->count);
}

/* The worker is a child of this process, and keeps to its CPUs. */
static enum status cpus_take(const struct fit_measurements *measurements,
                             const struct fit_measurement *measurement)
{
    const struct core_pairs *pairs = &measurements->pairs;
    const cpu_set_t *cpus = &measurements->own;
    bool pair = measurement->subject == SUBJECT_LINK || measurement->subject == SUBJECT_PROBE;
    if (pair && measurement->distance == DISTANCE_CACHE && pairs->has_near)
        cpus = &pairs->near;
    if (pair && measurement->distance == DISTANCE_NODE)
        cpus = &pairs->far;
    if (sched_setaffinity(0, sizeof *cpus, cpus) == 0)
        return STATUS_OK;
    return fail(STATUS_ERROR, "cannot run on %d of this host's CPUs: %s", CPU_COUNT(cpus),
                strerror(errno));
}

static enum status measurement_run(struct coordinator *coordinator, const struct job *job,
                                   const char *options, struct under_way *now,
                                   struct fit_measurements *measurements, int index)
{
    struct fit_measurement *measurement = &measurements->items[index];
    const struct fit_measurement *probe = probe_of(measurement);
    const struct roster *roster = coordinator_roster(coordinator);
    const int agents[] = {roster->hosts[0].agents[0],
                          roster->host_count > 1 ? roster->hosts[1].agents[0] : -1};
    const struct transport_choice *choice = measurement->transports;
    int np = measurement_np(measurement, measurements->cores);
    char command[COMMAND_MOST], start[32] = "", links[PORT_TRANSPORT_MOST];
    struct text text = text_in(links, sizeof links);
    struct fleet_outcome *outcomes = NULL;
    if (probe && probe->count == 0) { /* the link does not work */
        snprintf(measurement->why, sizeof measurement->why, "%s", probe->why);
        return STATUS_OK;
    }
    if (np > 0)
        snprintf(start, sizeof start, " --np %d", np);
    text_add(&text, "%s", choice->transport ? choice->transport->name : job->transports_text);
    if (choice->transport)
        transport_settings_put(choice, NULL, &text);
    snprintf(command, sizeof command,
             "%s -e %zu -f %d -n auto --budget %g -w 3 -c 0 --copy %s%s --transport %s%s",
             measurement->lines, measurement_most(measurement), measurement->step, LINE_BUDGET,
             copy_names[measurement->copy], start, links, options);
    const struct fleet_job order = {.command = command,
                                    .agents = agents,
                                    .ranks = measurement->distance == DISTANCE_NETWORK ? 2 : 1};
    enum status status = cpus_take(measurements, measurement);
    if (status == STATUS_OK)
        status = coordinator_run(coordinator, "fit", &order, 1, JOB_SECONDS, measurement_progress,
                                 now, &outcomes);
    sched_setaffinity(0, sizeof measurements->own, &measurements->own); /* where it was */
    if (status == STATUS_OK)
        status = measurement_read(job, &outcomes[0], measurement);
    coordinator_outcomes_free(outcomes, 1);
    return status;
}

enum status measurements_make(struct coordinator *coordinator, const struct job *job,
                              const char *options, const struct fit_progress *progress,
                              struct fit_measurements *measurements)
{
    *measurements =
        (struct fit_measurements){.items = calloc(JOBS_MOST, sizeof *measurements->items)};
    if (!measurements->items)
        return fail(STATUS_ERROR, "out of memory for measurements");
    if (sched_getaffinity(0, sizeof measurements->own, &measurements->own) != 0)
        return fail(STATUS_ERROR, "cannot count this host's CPUs: %s", strerror(errno));
    measurements->cores = CPU_COUNT(&measurements->own);
    core_pairs_find(&measurements->pairs);
    measurements_plan(measurements, job, coordinator_roster(coordinator)->host_count);
    if (measurements->count == JOBS_MOST)
        return fail(STATUS_ERROR, "fit has at most %d measurements: name fewer transports with -x",
                    JOBS_MOST - 1);
    enum status status = STATUS_OK;
    int jobs = PASSES_MOST * measurements->count;
    double began = clock_seconds();
    for (int i = 0; i < jobs && status == STATUS_OK; i++) {
        if (i > 0 && i % measurements->count == 0 && clock_seconds() - began > ALL_SECONDS)
            break;
        struct under_way now = {.progress = progress, .index = i, .count = jobs};
        status =
            measurement_run(coordinator, job, options, &now, measurements, i % measurements->count);
    }
    for (int i = 0; i < measurements->count; i++)
        medians_take(&measurements->items[i]);
    return status;
}

void measurements_free(struct fit_measurements *measurements)
{
    for (int i = 0; i < measurements->count; i++)
        free(measurements->items[i].benchmarks);
    free(measurements->items);
    *measurements = (struct fit_measurements){0};
}
