/*
 * soak_stage.c - the stages in rotation for a long time: what shows only after hours, or now and
 * then.
 *
 * Each rotation has new inputs, other pairs and other halves. What it finds is a finding like
 * that of the first time; what is found again counts the rotations. At the end the numbers of all
 * rotations are judged together (accept/judge/judge.h).
 */
#include "accept/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SERIES_NAME 80

/* A number of each host, in each rotation. */
struct soak_series {
    const char *stage, *unit; /* static */
    char name[SERIES_NAME];   /* "copy by all cores", "bandwidth one way (sent)" */
    bool less_is_better;
    double *values; /* [rotation * hosts + host]; 0: not measured */
};

struct soak {
    struct acceptance *acceptance;
    int hosts, rotations;
    struct {
        struct soak_series *items;
        int count;
    } series;
    double longest; /* seconds of a rotation */
    int drifting, dipping;
};

/* ---- numbers ---- */

/* Makes room for the values of a rotation, which are 0. */
static void row_add(const struct soak *soak, struct soak_series *series, int rotation)
{
    size_t row = (size_t)soak->hosts * sizeof *series->values;
    series->values = list_extend(series->values, (size_t)rotation, row);
}

/* Keeps a number of a host in this rotation. */
static void value_keep(struct soak *soak, const struct soak_series *what, int host, double value)
{
    int i = 0;
    while (i < soak->series.count && (strcmp(soak->series.items[i].name, what->name) != 0 ||
                                      strcmp(soak->series.items[i].stage, what->stage) != 0))
        i++;
    if (i == soak->series.count) {
        struct soak_series *series = LIST_ADD(soak->series.items, soak->series.count);
        *series = *what;
        for (int r = 0; r <= soak->rotations; r++)
            row_add(soak, series, r);
    }
    soak->series.items[i].values[soak->rotations * soak->hosts + host] = value;
}

/* Takes the numbers of the hosts by themselves, from `first` on. */
static void numbers_take(struct soak *soak, int first)
{
    const struct readings *readings = &soak->acceptance->readings;
    for (int i = first; i < readings->count; i++) {
        const struct reading *reading = &readings->items[i];
        if (!reading->number)
            continue;
        const struct measured_number *measured = reading->number->measured;
        struct soak_series what = {.stage = accept_stage_names[reading->stage],
                                   .unit = value_unit_names[measured->unit],
                                   .less_is_better = measured->less_is_better};
        snprintf(what.name, sizeof what.name, "%s", reading->number->name);
        value_keep(soak, &what, reading->from, reading->value);
    }
}

/* How good each host was in its pairs. */
static void levels_take(struct soak *soak)
{
    const struct fleet *fleet = soak->acceptance->fleet;
    const struct fleet_names names = fleet_names_of(soak->acceptance);
    for (int s = 0; fleet && s < fleet->series_count; s++) {
        const struct series *series = &fleet->series[s];
        if (series->metric == METRIC_LOSS)
            continue; /* a loss that comes and goes is 0 in most rotations */
        struct soak_series what = {.stage = accept_stage_names[STAGE_PAIRS],
                                   .unit = metric_unit(series->metric),
                                   .less_is_better = series->metric == METRIC_LATENCY};
        struct text name = text_in(what.name, sizeof what.name);
        series_name_put(fleet, s, &names, &name);
        for (int h = 0; h < soak->hosts; h++) {
            double level = fleet_level(fleet, s, h);
            if (level < INFINITY && level > -INFINITY)
                value_keep(soak, &what, h, fleet_value(fleet, s, level));
        }
    }
}

/* ---- a rotation ---- */

static json_t *series_values(const void *object, const void *context)
{
    const struct soak_series *series = object;
    const struct soak *soak = context;
    json_t *values = json_array();
    for (int h = 0; h < soak->hosts; h++) {
        double value = series->values[soak->rotations * soak->hosts + h];
        json_array_append_new(values, value > 0 ? json_real(value) : json_null());
    }
    return values;
}

const struct json_field rotation_series_fields[] = {
    {"stage", "stage", "stage that measured the numbers", JSON_MEMBER(struct soak_series, stage)},
    {"metric", "name", "in words; of the stage pairs: the median of each host's pairs",
     JSON_MEMBER(struct soak_series, name)},
    {"unit", "name", "unit of the values, as GB/s (10^9 bytes a second) or us",
     JSON_MEMBER(struct soak_series, unit)},
    {"values", "[number?]{1,0}", "by host; null: not measured", JSON_MADE(series_values)},
    {0},
};

struct rotation {
    int number;
    double after, seconds;
    json_t *stages;
};

static json_t *rotation_series(const void *object, const void *context)
{
    const struct soak *soak = context;
    (void)object;
    return json_list_of(rotation_series_fields, soak->series.items, sizeof *soak->series.items,
                        (size_t)soak->series.count, soak);
}

const struct json_field rotation_fields[] = {
    {"rotation", "positive", "number of the rotation, from 1",
     JSON_MEMBER(struct rotation, number)},
    {"after_seconds", "amount", "since the first stage began", JSON_MEMBER(struct rotation, after)},
    {"seconds", "amount", "seconds that it took", JSON_MEMBER(struct rotation, seconds)},
    {"stages", "[rotation_stage]", "stages of the rotation, in order",
     JSON_MEMBER(struct rotation, stages)},
    {"series", "[rotation_series]", "numbers of hosts in this rotation, an entry for each metric",
     JSON_MADE(rotation_series)},
    {0},
};

/* Runs the stages once more. What they learn of pairs is kept in the series alone: the results of
 * the run have the first ones. */
static enum status rotation_run(struct soak *soak)
{
    struct acceptance *acceptance = soak->acceptance;
    const struct acceptance first = *acceptance;
    double began = clock_seconds();
    json_t *stages = json_array();
    acceptance->pairs_first = acceptance->pairs_end = first.readings.count;
    acceptance->fleet = NULL;
    acceptance->seed++;
    acceptance->findings.rotation++;
    enum status status = stages_run(acceptance, STAGE_SELF, STAGE_SOAK, stages);
    for (int i = 0; i < soak->series.count; i++)
        row_add(soak, &soak->series.items[i], soak->rotations);
    numbers_take(soak, first.readings.count);
    levels_take(soak);
    fleet_free(acceptance->fleet);
    acceptance->fleet = first.fleet;
    acceptance->pairs_first = first.pairs_first;
    acceptance->pairs_end = first.pairs_end;
    acceptance->readings.count = first.readings.count;
    if (status == STATUS_OK)
        status = counting_look(acceptance, STAGE_SOAK);
    const struct rotation rotation = {soak->rotations + 1, began - acceptance->began,
                                      clock_seconds() - began, stages};
    acceptance->rotations = acceptance->rotations ? acceptance->rotations : json_array();
    json_array_append_new(acceptance->rotations, json_object_of(rotation_fields, &rotation, soak));
    json_decref(stages);
    soak->longest = fmax(soak->longest, rotation.seconds);
    soak->rotations++;
    acceptance->report->rotation(acceptance->report, acceptance, soak->rotations, rotation.seconds);
    return status;
}

/* ---- the end ---- */

static void drift_report(struct soak *soak, const struct soak_series *series,
                         const struct drift_series *judged, int host, const struct drift *drift)
{
    char what[FOUND_TEXT_MOST];
    struct text text = text_in(what, sizeof what);
    soak->drifting += drift->drifts;
    soak->dipping += drift->dips_often;
    drift_put(judged, series->name, series->unit, host, drift, &text);
    stage_finds(soak->acceptance, STAGE_SOAK, FOUND_DRIFT, host, HEALTH_SUSPECT, STATUS_SLOW,
                "%s: %s", soak->acceptance->labels[host], what);
}

static void series_judge(struct soak *soak, const struct soak_series *series, struct drift *drifts)
{
    const struct drift_series judged = {
        .less_is_better = series->less_is_better,
        .judged = (double)soak->hosts * soak->series.count,
        .alarms = ALARMS_DRIFT * soak->acceptance->asked->false_alarms,
        .rotations = soak->rotations,
        .hosts = soak->hosts,
        .values = series->values,
    };
    drifts_find(&judged, drifts);
    for (int h = 0; h < soak->hosts; h++)
        if (drifts[h].drifts || drifts[h].dips_often)
            drift_report(soak, series, &judged, h, &drifts[h]);
}

static void soak_judge(struct soak *soak)
{
    struct drift *drifts = stage_memory(soak->acceptance, (size_t)soak->hosts, sizeof *drifts);
    soak->acceptance->findings.rotation = 0; /* they are of all */
    for (int i = 0; i < soak->series.count; i++)
        series_judge(soak, &soak->series.items[i], drifts);
}

enum status soak_run(struct acceptance *acceptance, struct stage_result *result)
{
    const struct accept_options *options = acceptance->asked;
    const unsigned repeated = ((1u << STAGE_SOAK) - 1) & ~((1u << STAGE_SELF) - 1);
    struct soak soak = {.acceptance = acceptance, .hosts = acceptance->roster->host_count};
    double end = acceptance->began + options->duration;
    for (int i = 0; i < acceptance->stage_count; i++) /* the stages have run once */
        if (acceptance->stages[i].stage >= STAGE_SELF)
            soak.longest += acceptance->stages[i].seconds;
    enum status status = STATUS_OK;
    if (!(options->stages & repeated))
        stage_lacks(result, STAGE_LEFT_OUT, "--stages has none that can be repeated");
    else
        while (status == STATUS_OK && clock_seconds() + soak.longest < end)
            status = rotation_run(&soak);
    if (status == STATUS_OK && soak.rotations == 0 && result->state == STAGE_DONE)
        stage_lacks(result, STAGE_LEFT_OUT, "the stages before it took the time of --duration");
    if (status == STATUS_OK && soak.rotations > 0)
        soak_judge(&soak);
    if (soak.rotations > 0)
        stage_says(result,
                   "%d rotations of %.1f s at most: %d times a host drifts, %d times it dips",
                   soak.rotations, soak.longest, soak.drifting, soak.dipping);
    for (int i = 0; i < soak.series.count; i++)
        free(soak.series.items[i].values);
    free(soak.series.items);
    return status;
}
