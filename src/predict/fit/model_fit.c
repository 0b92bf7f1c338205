/*
 * model_fit.c - from benchmarks to a model: which costs each of them decides.
 */
#include "predict/fit/internal.h"

#include "base/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Finds the costs of a model by which the simulator says what was measured.
 */
#define FACTOR_FIRST 2.0
#define FACTOR_LAST  1.02
#define ROUNDS_MOST  60
#define WORTH        1e-6 /* by which the sum has to fall */

enum status benchmark_error(const struct benchmark *benchmark, const struct model *model,
                            double *error)
{
    double time = 0, first = 0;
    enum status status = benchmark_predict(benchmark, model, &time, &first);
    *error = fabs(log(time / benchmark->time));
    if (benchmark->first > 0)
        *error = (*error + fabs(log(first / benchmark->first))) / 2;
    return status;
}

static enum status errors_sum(const struct benchmark *benchmarks, int count,
                              const struct model *model, double *sum)
{
    enum status status = STATUS_OK;
    double error;
    *sum = 0;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        status = benchmark_error(&benchmarks[i], model, &error);
        *sum += error;
    }
    return status;
}

/* Tries the unknown times and divided by the factor; keeps what is better. *kept: one was. */
static enum status unknown_try(const struct unknown *unknown, double factor,
                               const struct benchmark *benchmarks, int count,
                               const struct model *model, double *sum, bool *kept)
{
    const double before = *unknown->value;
    const double tries[] = {before * factor, before / factor};
    enum status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK && !*kept; i++) {
        double now;
        if (tries[i] < unknown->least)
            continue;
        *unknown->value = tries[i];
        status = errors_sum(benchmarks, count, model, &now);
        if (status == STATUS_OK && now < *sum - WORTH) {
            *sum = now;
            *kept = true;
        } else {
            *unknown->value = before;
        }
    }
    return status;
}

/* Improves the unknowns from where they stand. `count` benchmarks decide. Errors as of
 * benchmark_predict(). */
static enum status unknowns_fit(struct unknown *unknowns, int unknown_count,
                                const struct benchmark *benchmarks, int count,
                                const struct model *model)
{
    double sum, factor = FACTOR_FIRST;
    enum status status = errors_sum(benchmarks, count, model, &sum);
    for (int round = 0; round < ROUNDS_MOST && factor > FACTOR_LAST && status == STATUS_OK;
         round++) {
        bool better = false;
        for (int u = 0; u < unknown_count && status == STATUS_OK; u++) {
            bool kept = false;
            status = unknown_try(&unknowns[u], factor, benchmarks, count, model, &sum, &kept);
            better |= kept;
        }
        if (!better)
            factor = sqrt(factor);
    }
    return status;
}

/*
 * From benchmarks to a model.
 */
#define UNKNOWNS_MOST 64
#define GAP_BYTES     64   /* about the headers of a packet */
#define TINY          1e-7 /* us: a cost that is as good as none */

/* Bytes of all buffers of a rank, at which curves of local memory have points. */
static const double local_sizes[] = {8 << 10, 256 << 10, 4 << 20, 128 << 20};
#define LOCAL_SIZES 4

/* The costs that a set of benchmarks decides. */
struct fit_part {
    struct unknown unknowns[UNKNOWNS_MOST];
    int count;
};

static void part_add(struct fit_part *part, double *value, double start, double least)
{
    if (part->count == UNKNOWNS_MOST)
        return;
    *value = start;
    part->unknowns[part->count++] = (struct unknown){.value = value, .least = least};
}

/* A curve with a point at each of these numbers of bytes. */
static void part_add_curve(struct fit_part *part, struct curve *curve, const double *bytes,
                           int count, double start)
{
    curve->count = count;
    for (int i = 0; i < count; i++) {
        curve->points[i].bytes = bytes[i];
        part_add(part, &curve->points[i].value, start, TINY / 100);
    }
}

/* Time for each further byte, between the shortest and the longest pingpong. */
static double slope_of(const struct fit_measurement *measurement)
{
    const struct benchmark *low = NULL, *high = NULL;
    for (int i = 0; i < measurement->count; i++) {
        const struct benchmark *benchmark = &measurement->benchmarks[i];
        if (!low || benchmark->bytes < low->bytes)
            low = benchmark;
        if (!high || benchmark->bytes > high->bytes)
            high = benchmark;
    }
    double time = high && low ? high->time - low->time : 0;
    return time > 0 ? time / (double)(high->bytes - low->bytes) : 1e-4;
}

static enum status part_fit(struct fit_part *part, const struct fit_measurement *measurement,
                            const struct model *model)
{
    return unknowns_fit(part->unknowns, part->count, measurement->benchmarks, measurement->count,
                        model);
}

static enum status alone_fit(const struct fit_measurement *measurement, struct model *model)
{
    struct fit_part part = {.count = 0};
    part_add(&part, &model->start, measurement->benchmarks[0].time / 2, TINY);
    part_add(&part, &model->copy_overhead, measurement->benchmarks[0].time / 2, TINY);
    part_add_curve(&part, &model->copy, local_sizes, LOCAL_SIZES, slope_of(measurement));
    return part_fit(&part, measurement, model);
}

/* The start is the time of a core alone, divided by the cores. Cores that do not disturb each other
 * show no limit of the memory, so the costs stay there. */
static enum status bus_fit(const struct fit_measurement *measurement, struct model *model)
{
    struct fit_part part = {.count = 0};
    double share = 1.0 + measurement->benchmarks[0].beside;
    part_add_curve(&part, &model->bus, local_sizes, LOCAL_SIZES, 0);
    for (int i = 0; i < LOCAL_SIZES; i++)
        model->bus.points[i].value = model->copy.points[i].value / share;
    return part_fit(&part, measurement, model);
}

/* NULL: the model has none. */
static struct link_model *link_find(struct model *model, const struct fit_measurement *measurement)
{
    const char *name = measurement->transports[0].transport->name;
    for (int i = 0; i < model->link_count; i++)
        if (model->links[i].distance == measurement->distance &&
            strcmp(model->links[i].transport, name) == 0 &&
            strcmp(model->links[i].rail, measurement->rail) == 0)
            return &model->links[i];
    return NULL;
}

/* Makes it where the model has none. NULL: there is no room. */
static struct link_model *link_of(struct model *model, const struct fit_measurement *measurement)
{
    struct link_model *link = link_find(model, measurement);
    if (link || model->link_count == LINK_MODELS_MOST)
        return link;
    link = &model->links[model->link_count++];
    *link = (struct link_model){.distance = measurement->distance,
                                .port = measurement->distance == DISTANCE_NETWORK ? PORT_NODE
                                                                                  : PORT_NONE};
    snprintf(link->transport, sizeof link->transport, "%s",
             measurement->transports[0].transport->name);
    _Static_assert(RAIL_NAME_MOST >= NIC_TEXT_MOST, "the name of a rail is cut off");
    snprintf(link->rail, sizeof link->rail, "%s", measurement->rail);
    return link;
}

/* A row of a link, whose costs are unknown. Short messages are in the cache. */
static void row_add(struct fit_part *part, struct link_model *link,
                    const struct fit_measurement *measurement, const struct path_range *range)
{
    static const double sizes[] = {16 << 10, 512 << 10, 4 << 20, 64 << 20};
    int points = range->most > 0 ? 1 : sizeof sizes / sizeof *sizes;
    double time = measurement->benchmarks[0].time, slope = slope_of(measurement);
    if (link->path_count == PATH_COSTS_MOST)
        return;
    struct path_cost *row = &link->paths[link->path_count++];
    *row = (struct path_cost){.path = range->path,
                              .least = range->least,
                              .movement = range->movement,
                              .combines_apart = range->combines_apart};
    part_add(part, &row->latency, time / 2, TINY);
    part_add(part, &row->send_overhead, time / 4, TINY);
    part_add(part, &row->receive_overhead, time / 4, TINY);
    if (row->movement == MOVEMENT_PUSH)
        part_add_curve(part, &row->send_byte, sizes, points, slope / 2);
    part_add_curve(part, &row->receive_byte, sizes, points, slope / 2);
    if (measurement->distance == DISTANCE_NETWORK) {
        part_add(part, &row->wire, slope / 2, TINY / 100);
        part_add(part, &row->gap, slope * GAP_BYTES, TINY);
    }
}

/* The row of the same transport, path and lengths within a host; NULL: the model has none. */
static const struct path_cost *near_row(const struct model *model, const struct link_model *link,
                                        enum path path, size_t least)
{
    for (int i = 0; i < model->link_count; i++) {
        const struct link_model *near = &model->links[i];
        for (int p = 0; p < near->path_count; p++)
            if (near->distance != DISTANCE_NETWORK &&
                strcmp(near->transport, link->transport) == 0 && near->paths[p].path == path &&
                near->paths[p].least == least)
                return &near->paths[p];
    }
    return NULL;
}

/* Between hosts: what the cores do is as within a host, and the wire has the rest. Two ranks cannot
 * tell the two apart. */
static void row_add_apart(struct fit_part *part, struct link_model *link,
                          const struct fit_measurement *measurement, const struct path_cost *near)
{
    if (link->path_count == PATH_COSTS_MOST)
        return;
    struct path_cost *row = &link->paths[link->path_count++];
    *row = *near;
    part_add(part, &row->latency, measurement->benchmarks[0].time / 2, TINY);
    part_add(part, &row->wire, slope_of(measurement), TINY / 100);
    part_add(part, &row->gap, slope_of(measurement) * GAP_BYTES, TINY);
}

static enum status link_fit(const struct fit_measurement *measurement, struct model *model)
{
    const struct transport *transport = measurement->transports[0].transport;
    struct fit_part part = {.count = 0};
    struct link_model *link = link_of(model, measurement);
    if (!link)
        return fail(STATUS_ERROR, "a model has at most %d links", LINK_MODELS_MOST);
    core_latency_add(&link->core, measurement->core.least, measurement->core.most);
    for (int i = 0; i < transport->path_range_count; i++) {
        const struct path_range *range = &transport->path_ranges[i];
        const struct path_cost *near = measurement->distance == DISTANCE_NETWORK
                                           ? near_row(model, link, range->path, range->least)
                                           : NULL;
        if (range->path == measurement->path && near)
            row_add_apart(&part, link, measurement, near);
        else if (range->path == measurement->path)
            row_add(&part, link, measurement, range);
    }
    return part_fit(&part, measurement, model);
}

/* The types of the benchmarks, one after the other. */
static enum status combine_fit(const struct fit_measurement *measurement, struct model *model)
{
    static const double sizes[] = {16 << 10, 512 << 10, 64 << 20};
    enum status status = STATUS_OK;
    for (int first = 0, end; first < measurement->count && status == STATUS_OK; first = end) {
        const struct benchmark *one = &measurement->benchmarks[first];
        struct fit_measurement same = *measurement;
        struct fit_part part = {.count = 0};
        for (end = first;
             end < measurement->count && measurement->benchmarks[end].datatype == one->datatype;)
            end++;
        same.benchmarks += first;
        same.count = end - first;
        if (model->combine_count == COMBINE_COSTS_MOST)
            break;
        struct combine_cost *row = &model->combines[model->combine_count++];
        snprintf(row->datatype, sizeof row->datatype, "%s", one->datatype->name);
        snprintf(row->reduction, sizeof row->reduction, "%s", one->reduction->name);
        part_add_curve(&part, &row->byte, sizes, 3, slope_of(&same));
        status = part_fit(&part, &same, model);
    }
    return status;
}

static enum status crowd_fit(const struct fit_measurement *measurement, struct model *model)
{
    struct fit_part part = {.count = 0};
    part_add(&part, &model->core_switch, 1, TINY);
    return part_fit(&part, measurement, model);
}

/* The cost of a byte on a path where ranks share cores. Between hosts the cores do the same as
 * within one. */
static enum status sharing_fit(const struct fit_measurement *measurement, struct model *model)
{
    const char *name = measurement->transports[0].transport->name;
    struct fit_part part = {.count = 0};
    for (int l = 0; l < model->link_count; l++) {
        struct link_model *link = &model->links[l];
        bool near = strcmp(link->transport, name) == 0 && link->distance != DISTANCE_NETWORK;
        for (int i = 0; i < link->path_count && near; i++)
            if (link->paths[i].path == measurement->path)
                part_add(&part, &link->paths[i].sharing, 1, TINY);
    }
    enum status status = part.count > 0 ? part_fit(&part, measurement, model) : STATUS_OK;
    for (int l = 0; l < model->link_count; l++) {
        struct link_model *link = &model->links[l];
        for (int i = 0; i < link->path_count && link->distance == DISTANCE_NETWORK; i++) {
            struct path_cost *row = &link->paths[i];
            const struct path_cost *near = near_row(model, link, row->path, row->least);
            row->sharing = near ? near->sharing : 0;
        }
    }
    return status;
}

static enum status measurement_fit(const struct fit_measurement *measurement, struct model *model)
{
    switch (measurement->subject) {
    case SUBJECT_ALONE:
        return alone_fit(measurement, model);
    case SUBJECT_BUS:
        return bus_fit(measurement, model);
    case SUBJECT_LINK:
        return link_fit(measurement, model);
    case SUBJECT_COMBINE:
        return combine_fit(measurement, model);
    case SUBJECT_CROWD:
        return crowd_fit(measurement, model);
    case SUBJECT_SHARING:
        return sharing_fit(measurement, model);
    case SUBJECT_PROBE: /* the next ones go by it */
        break;
    }
    return STATUS_OK;
}

static const char *why_no_link(const struct fit_measurements *measurements)
{
    for (int i = 0; i < measurements->count; i++)
        if (measurements->items[i].subject == SUBJECT_LINK && measurements->items[i].why[0])
            return measurements->items[i].why;
    return "no transport of -x works here";
}

enum status model_fit(const struct fit_measurements *measurements, struct model *model)
{
    enum status status = STATUS_OK;
    model->cores = measurements->cores;
    model->caches = measurements->pairs.caches;
    model->cache_cores = measurements->pairs.cache_cores;
    for (int i = 0; i < measurements->count && status == STATUS_OK; i++)
        if (measurements->items[i].count > 0 &&
            (model->link_count > 0 || measurements->items[i].subject < SUBJECT_COMBINE))
            status = measurement_fit(&measurements->items[i], model);
    if (status == STATUS_OK && model->link_count == 0)
        return fail(STATUS_UNAVAILABLE, "no link could be measured: %s", why_no_link(measurements));
    return status;
}
