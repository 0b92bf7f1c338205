/*
 * soak_stage.c - the stages in rotation for a long time.
 */
#include "accept/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "accept/judge/judge.h"

#define SERIES_NAME     80
#define FLOOR_BANDWIDTH 0.1
#define FLOOR_LATENCY   0.3

/* A number of each host, in each rotation. */
struct soak_series {
    const char *stage, *unit; /* static */
    char name[SERIES_NAME];   /* "copy by all cores", "bandwidth one way (sent)" */
    bool less_is_better;
    double *values; /* [rotation * hosts + host]; 0: not measured */
};

struct soak {
    struct acceptance *acceptance;
    rotation_stage_run *stage_run;
    int hosts, rotations, room, series_count, series_room;
    struct soak_series *series;
    double longest; /* seconds of a rotation */
    int drifting, dipping;
};

/* ---- numbers ---- */

/* Makes room for one more rotation in all series. */
static bool rotation_fits(struct soak *soak)
{
    size_t hosts = (size_t)soak->hosts;
    if (soak->rotations < soak->room)
        return true;
    int room = 2 * soak->room + 16;
    for (int i = 0; i < soak->series_count; i++) {
        double *values = realloc(soak->series[i].values, (size_t)room * hosts * sizeof *values);
        if (!values)
            return false;
        memset(values + (size_t)soak->room * hosts, 0,
               (size_t)(room - soak->room) * hosts * sizeof *values);
        soak->series[i].values = values;
    }
    soak->room = room;
    return true;
}

/* A new series; NULL: out of memory. */
static struct soak_series *series_add(struct soak *soak, const struct soak_series *what)
{
    if (soak->series_count == soak->series_room) {
        int room = 2 * soak->series_room + 16;
        struct soak_series *series = realloc(soak->series, (size_t)room * sizeof *series);
        if (!series)
            return NULL;
        soak->series = series;
        soak->series_room = room;
    }
    struct soak_series *series = &soak->series[soak->series_count];
    *series = *what;
    series->values = calloc((size_t)soak->room * (size_t)soak->hosts, sizeof *series->values);
    soak->series_count += series->values != NULL;
    return series->values ? series : NULL;
}

/* Keeps a number of a host in this rotation. False: out of memory. */
static bool value_keep(struct soak *soak, const struct soak_series *what, int host, double value)
{
    int i = 0;
    while (i < soak->series_count && (strcmp(soak->series[i].name, what->name) != 0 ||
                                      strcmp(soak->series[i].stage, what->stage) != 0))
        i++;
    if (i == soak->series_count && !series_add(soak, what))
        return false;
    soak->series[i].values[soak->rotations * soak->hosts + host] = value;
    return true;
}

/* What the hosts measured by themselves, from `first` on. */
static bool numbers_take(struct soak *soak, int first)
{
    const struct acceptance *acceptance = soak->acceptance;
    bool kept = true;
    for (int i = first; i < acceptance->number_count && kept; i++) {
        const struct host_number *number = &acceptance->numbers[i];
        int measured = measured_find(number->key);
        struct soak_series what = {.stage = accept_stage_names[number->stage],
                                   .unit = number->unit,
                                   .less_is_better =
                                       measured >= 0 && measured_numbers[measured].less_is_better};
        snprintf(what.name, sizeof what.name, "%s", number->metric);
        kept = value_keep(soak, &what, number->host, number->value);
    }
    return kept;
}

/* How good each host was in its pairs. */
static bool levels_take(struct soak *soak)
{
    const struct fleet *fleet = soak->acceptance->fleet;
    const struct fleet_names names = fleet_names_of(soak->acceptance);
    bool kept = true;
    for (int s = 0; fleet && s < fleet_series_count(fleet); s++) {
        const struct series *series = fleet_series(fleet, s);
        struct soak_series what = {.stage = accept_stage_names[STAGE_PAIRS],
                                   .unit = metric_unit(series->metric),
                                   .less_is_better = series->metric == METRIC_LATENCY};
        struct text name = text_in(what.name, sizeof what.name);
        series_name_put(fleet, s, &names, &name);
        for (int h = 0; h < soak->hosts && kept; h++) {
            double level = fleet_level(fleet, s, h);
            if (level < INFINITY && level > -INFINITY)
                kept = value_keep(soak, &what, h, fleet_value(fleet, s, level));
        }
    }
    return kept;
}

/* ---- a rotation ---- */

/* Frees what a rotation learned of pairs. */
static void pairs_forget(struct acceptance *acceptance)
{
    readings_free(&acceptance->paired);
    readings_free(&acceptance->isolated);
    readings_free(&acceptance->resent);
    free(acceptance->loses_packets);
    fleet_free(acceptance->fleet);
    acceptance->loses_packets = NULL;
    acceptance->fleet = NULL;
}

static json_t *series_json(const struct soak *soak)
{
    json_t *all = json_array();
    for (int i = 0; i < soak->series_count; i++) {
        const struct soak_series *series = &soak->series[i];
        json_t *values = json_array();
        for (int h = 0; h < soak->hosts; h++) {
            double value = series->values[soak->rotations * soak->hosts + h];
            json_array_append_new(values, value > 0 ? json_real(value) : json_null());
        }
        json_array_append_new(all,
                              json_pack("{s:s, s:s, s:s, s:o}", "stage", series->stage, "metric",
                                        series->name, "unit", series->unit, "values", values));
    }
    return all;
}

static enum status rotation_stages(struct soak *soak, json_t *stages)
{
    struct acceptance *acceptance = soak->acceptance;
    enum status status = STATUS_OK;
    for (int s = STAGE_SELF; s < STAGE_SOAK && status == STATUS_OK; s++) {
        if (!(acceptance->asked->stages & (1u << s)))
            continue;
        struct stage_result result = {.stage = (enum accept_stage)s, .jobs = json_array()};
        double began = clock_seconds();
        status = soak->stage_run(acceptance, &result);
        result.seconds = clock_seconds() - began;
        json_array_append_new(stages,
                              json_pack("{s:s, s:s, s:s, s:s, s:f}", "stage", accept_stage_names[s],
                                        "state", stage_state_names[result.state], "why", result.why,
                                        "result", result.text, "seconds", result.seconds));
        json_decref(result.jobs);
    }
    return status;
}

/* Runs the stages once more. What they learn of pairs is kept in the series alone: the results of the
 * run have the first ones. */
static enum status rotation_run(struct soak *soak)
{
    struct acceptance *acceptance = soak->acceptance;
    const struct acceptance first = *acceptance;
    double began = clock_seconds();
    json_t *stages = json_array();
    acceptance->paired = acceptance->isolated = acceptance->resent = (struct readings){0};
    acceptance->fleet = NULL;
    acceptance->loses_packets = NULL;
    acceptance->seed++;
    acceptance->findings.rotation++;
    enum status status = rotation_stages(soak, stages);
    bool fits = rotation_fits(soak);
    bool kept = fits && numbers_take(soak, first.number_count) && levels_take(soak);
    if (status == STATUS_OK && !kept)
        status = fail(STATUS_ERROR, "out of memory for rotation %d", soak->rotations + 1);
    pairs_forget(acceptance);
    acceptance->paired = first.paired;
    acceptance->isolated = first.isolated;
    acceptance->resent = first.resent;
    acceptance->fleet = first.fleet;
    acceptance->loses_packets = first.loses_packets;
    acceptance->number_count = first.number_count;
    if (status == STATUS_OK)
        status = counting_look(acceptance, STAGE_SOAK);
    double seconds = clock_seconds() - began;
    acceptance->rotations = acceptance->rotations ? acceptance->rotations : json_array();
    json_array_append_new(acceptance->rotations,
                          json_pack("{s:i, s:f, s:f, s:o, s:o}", "rotation", soak->rotations + 1,
                                    "after_seconds", began - acceptance->began, "seconds", seconds,
                                    "stages", stages, "series",
                                    fits ? series_json(soak) : json_array()));
    soak->longest = seconds > soak->longest ? seconds : soak->longest;
    soak->rotations++;
    acceptance->report->rotation(acceptance->report, acceptance, soak->rotations, seconds);
    return status;
}

/* ---- the end ---- */

static enum status drift_report(struct soak *soak, const struct soak_series *series, int host,
                                const struct drift *drift)
{
    struct acceptance *acceptance = soak->acceptance;
    const char *label = host_label(acceptance, host);
    soak->drifting += drift->drifts;
    soak->dipping += drift->dips_often && !drift->drifts;
    if (drift->drifts)
        return stage_finds(acceptance, STAGE_SOAK, host, -1, HEALTH_SUSPECT, STATUS_SLOW,
                           "%s: %s goes from %.3g to %.3g %s over %d rotations: %.0f%% worse%s",
                           label, series->name, drift->first, drift->last, series->unit,
                           drift->measured, 100 * drift->worse,
                           soak->hosts < HOSTS_COMPARED ? "" : " beside the fleet");
    return stage_finds(acceptance, STAGE_SOAK, host, -1, HEALTH_SUSPECT, STATUS_SLOW,
                       "%s: %s dips in %d of %d rotations, to %.3g %s in rotation %d; other hosts "
                       "in %.1f%%",
                       label, series->name, drift->dips, drift->measured,
                       series->values[drift->worst * soak->hosts + host], series->unit,
                       drift->worst + 1, 100 * drift->dips_share);
}

static enum status series_judge(struct soak *soak, const struct soak_series *series,
                                struct drift *drifts)
{
    const struct drift_series judged = {
        .less_is_better = series->less_is_better,
        .floor = series->less_is_better ? FLOOR_LATENCY : FLOOR_BANDWIDTH,
        .judged = (double)soak->hosts * soak->series_count,
        .rotations = soak->rotations,
        .hosts = soak->hosts,
        .values = series->values,
    };
    if (!drifts_find(&judged, drifts))
        return fail(STATUS_ERROR, "out of memory for %d rotations", soak->rotations);
    enum status status = STATUS_OK;
    for (int h = 0; h < soak->hosts && status == STATUS_OK; h++)
        if (drifts[h].drifts || drifts[h].dips_often)
            status = drift_report(soak, series, h, &drifts[h]);
    return status;
}

static enum status soak_judge(struct soak *soak)
{
    struct drift *drifts = calloc((size_t)soak->hosts, sizeof *drifts);
    enum status status = drifts ? STATUS_OK : fail(STATUS_ERROR, "out of memory for the soak");
    soak->acceptance->findings.rotation = 0; /* they are of all */
    for (int i = 0; i < soak->series_count && status == STATUS_OK; i++)
        status = series_judge(soak, &soak->series[i], drifts);
    free(drifts);
    return status;
}

enum status soak_stage_run(struct acceptance *acceptance, struct stage_result *result,
                           rotation_stage_run *stage_run)
{
    const struct accept_options *options = acceptance->asked;
    const unsigned repeated = ((1u << STAGE_SOAK) - 1) & ~((1u << STAGE_SELF) - 1);
    struct soak *soak = calloc(1, sizeof *soak);
    double end = acceptance->began + options->duration;
    if (!soak)
        return fail(STATUS_ERROR, "out of memory for the soak");
    soak->acceptance = acceptance;
    soak->stage_run = stage_run;
    soak->hosts = acceptance->roster->host_count;
    for (int i = 0; i < acceptance->stage_count; i++) /* the stages have run once */
        if (acceptance->stages[i].stage >= STAGE_SELF)
            soak->longest += acceptance->stages[i].seconds;
    enum status status = STATUS_OK;
    if (!(options->stages & repeated))
        stage_lacks(result, STAGE_LEFT_OUT, "--stages has none that can be repeated");
    else
        while (status == STATUS_OK && clock_seconds() + soak->longest < end)
            status = rotation_run(soak);
    if (status == STATUS_OK && soak->rotations == 0 && result->state == STAGE_DONE)
        stage_lacks(result, STAGE_LEFT_OUT, "the stages before it took the time of --duration");
    if (status == STATUS_OK && soak->rotations > 0)
        status = soak_judge(soak);
    if (soak->rotations > 0)
        stage_says(result,
                   "%d rotations of %.1f s at most: %d times a host drifts, %d times it dips",
                   soak->rotations, soak->longest, soak->drifting, soak->dipping);
    for (int i = 0; i < soak->series_count; i++)
        free(soak->series[i].values);
    free(soak->series);
    free(soak);
    return status;
}
