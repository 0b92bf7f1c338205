/*
 * tune_json.c - the winners of `cctest tune` as a JSON document, which --tuning reads.
 */
#include "cli/tune/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/options/options.h"
#include "base/io/io.h"
#include "host/facts/facts.h"

/* What the measurements hold for. Other hosts are taken to have what rank 0's has. */
static json_t *machine_json(const struct tuner *tuner)
{
    char model[VALUE_TEXT_MOST];
    json_t *hosts = json_array();
    cpu_model_read("", model);
    for (int h = 0; tuner->roster && h < tuner->roster->host_count; h++)
        json_array_append_new(hosts, json_string(tuner->roster->hosts[h].name));
    return json_pack("{s:s, s:I, s:o, s:i}", "cpu", model, "threads",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "hosts", hosts, "ranks",
                     tuner->roster ? tuner->roster->ranks : 0);
}

static json_t *racer_json(const struct racer *racer)
{
    double low, high;
    racer_interval(racer, &low, &high);
    return json_pack("{s:s, s:f, s:f, s:f, s:i}", "algorithm", racer->text, "time_us",
                     racer->time, "low_us", low, "high_us", high, "rounds", racer->rounds);
}

static json_t *pruned_json(const struct race *race)
{
    json_t *list = json_array();
    for (int i = 0; i < race->pruned_count; i++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "algorithm", race->pruned[i].text,
                                              "predicted_us", race->pruned[i].predicted));
    return list;
}

/* A copy, the winner first: the races go on. NULL: out of memory. */
static json_t *cell_json(const struct race *race)
{
    struct race sorted = *race;
    json_t *timed = json_array(), *wrong = json_array();
    sorted.racers = malloc(((size_t)race->count + 1) * sizeof *sorted.racers);
    if (sorted.racers) {
        memcpy(sorted.racers, race->racers, (size_t)race->count * sizeof *sorted.racers);
        race_sort(&sorted);
    }
    for (int i = 0; sorted.racers && i < sorted.count; i++) {
        const struct racer *racer = &sorted.racers[i];
        if (racer->wrong)
            json_array_append_new(wrong, json_string(racer->text));
        else if (racer->time > 0)
            json_array_append_new(timed, racer_json(racer));
    }
    double margin = sorted.racers ? race_margin(&sorted) : 0;
    free(sorted.racers);
    return json_pack("{s:s, s:i, s:i, s:s, s:I, s:i, s:o, s:o, s:o, s:o}", "collective",
                     race->collective->name, "ranks", race->ranks, "nodes", race->nodes,
                     "transport", race->transport, "bytes", (json_int_t)race->bytes, "rounds",
                     race->rounds, "margin", margin > 0 ? json_real(margin) : json_null(),
                     "algorithms", timed, "pruned", pruned_json(race), "wrong", wrong);
}

static json_t *errors_json(const struct tuner *tuner)
{
    struct failure failure;
    json_t *errors = json_array();
    if (log_failure(log_current(), &failure))
        json_array_append_new(errors, json_string(failure.text));
    else if (tuner->failed > 0)
        json_array_append_new(errors, json_string(tuner->why));
    return errors;
}

json_t *tune_json(const struct tuner *tuner, const struct request *request,
                  const enum status *status)
{
    json_t *document = json_document(), *cells = json_array();
    if (!document || !cells)
        return NULL;
    for (int i = 0; i < tuner->race_count; i++) {
        const struct race *race = &tuner->races[i];
        json_t *cell = race->count > 0 ? cell_json(race) : NULL;
        if (json_array_size(json_object_get(cell, "algorithms")) > 0 ||
            json_array_size(json_object_get(cell, "wrong")) > 0)
            json_array_append(cells, cell);
        json_decref(cell);
    }
    json_object_set_new(document, "command", json_string("tune"));
    json_object_set_new(document, "status", json_string(status ? status_word(*status) : "running"));
    json_object_set_new(document, "bootstrap", json_string(tuner->bootstrap));
    json_object_set_new(document, "options", json_options(request, FOR_TUNE));
    json_object_set_new(document, "machine", machine_json(tuner));
    json_object_set_new(document, "seconds",
                        json_real(tuner->began > 0 ? clock_seconds() - tuner->began : 0));
    json_object_set_new(document, "unmeasured", json_integer(tuner->unmeasured));
    json_object_set_new(document, "unpredicted", json_integer(tuner->unpredicted));
    json_object_set_new(document, "cells", cells);
    json_object_set_new(document, "errors", errors_json(tuner));
    return document;
}
