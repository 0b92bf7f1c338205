/*
 * tuning_file.c - the JSON of `cctest tune`: written, and read as what auto picks by.
 *
 * A file may be cut off or edited by hand, so everything is checked before its use.
 */
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/io/io.h"
#include "collective/formats/formats.h"
#include "host/facts/facts.h"

#define EXCERPT    60 /* bytes of a word of the file in a sentence */
#define CELLS_MOST 20000

/* A cell that is being read. */
struct cell_reader {
    const char *path;
    struct tuned *tuned;
    size_t number; /* from 1, for sentences */
    const json_t *json;
    struct tuned_cell *cell;
};

static enum status memory_refuse(const char *path)
{
    return fail(STATUS_ERROR, "out of memory for the measurements of %.200s", path);
}

static enum status cell_refuse(const struct cell_reader *reader, const char *what)
{
    char part[100];
    const struct failure_place place = {.file = reader->path, .part = part};
    snprintf(part, sizeof part, "cell %zu (%.*s)", reader->number, EXCERPT,
             word_of(reader->json, "collective"));
    return fail_at(STATUS_USAGE, &place, "%s: make the file again with cctest tune", what);
}

/* Reads an algorithm that stands in the cell. */
static enum status choice_read(const struct cell_reader *reader, const char *text,
                               struct choice *choice)
{
    const struct collective *collective = reader->cell->collective;
    char cell[100], part[200];
    struct failure_place place = {.file = reader->path, .part = cell};
    snprintf(cell, sizeof cell, "cell %zu (%s, %d ranks)", reader->number, collective->name,
             reader->cell->ranks);
    if (strlen(text) >= CANDIDATE_TEXT_MOST)
        return fail_at(STATUS_USAGE, &place, "the name of an algorithm is too long: '%.*s...'",
                       EXCERPT, text);
    snprintf(part, sizeof part, "%s: algorithm '%.*s'", cell, EXCERPT, text);
    place.part = part;
    fail_within(&place);
    enum status status = choice_parse(collective, text, choice);
    fail_within(NULL);
    return status;
}

static enum status algorithm_read(const struct cell_reader *reader, const json_t *json,
                                  struct tuned_algorithm *algorithm)
{
    const char *text = word_of(json, "algorithm");
    double low = number_of(json, "low_us"), high = number_of(json, "high_us");
    algorithm->time = number_of(json, "time_us");
    if (!(algorithm->time > 0))
        return cell_refuse(reader, "an algorithm has no time_us above 0");
    algorithm->low = low > 0 && low < algorithm->time ? low : algorithm->time;
    algorithm->high = high > algorithm->time ? high : algorithm->time;
    enum status status = choice_read(reader, text, &algorithm->choice);
    if (status != STATUS_OK)
        return status;
    char *copy = arena_take(reader->tuned->arena, strlen(text) + 1);
    if (!copy)
        return memory_refuse(reader->path);
    algorithm->text = strcpy(copy, text);
    return STATUS_OK;
}

static int time_compare(const void *a, const void *b)
{
    const struct tuned_algorithm *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

static enum status algorithms_read(const struct cell_reader *reader)
{
    const json_t *list = json_object_get(reader->json, "algorithms"), *it;
    struct tuned_cell *cell = reader->cell;
    size_t count = json_array_size(list), index;
    if (count == 0 || count > TUNED_MOST)
        return cell_refuse(reader, "it has no algorithms, or too many");
    cell->algorithms = arena_take(reader->tuned->arena, count * sizeof *cell->algorithms);
    if (!cell->algorithms)
        return memory_refuse(reader->path);
    enum status status = STATUS_OK;
    json_array_foreach(list, index, it)
    {
        status = algorithm_read(reader, it, &cell->algorithms[index]);
        if (status != STATUS_OK)
            return status;
    }
    cell->count = (int)count;
    qsort(cell->algorithms, count, sizeof *cell->algorithms, time_compare);
    return STATUS_OK;
}

static enum status cell_read(const struct cell_reader *reader)
{
    double ranks = number_of(reader->json, "ranks"), bytes = number_of(reader->json, "bytes");
    double nodes = number_of(reader->json, "nodes");
    struct tuned_cell *cell = reader->cell;
    *cell = (struct tuned_cell){.collective = collective_find(word_of(reader->json, "collective"))};
    if (!cell->collective)
        return cell_refuse(reader, "it has no collective of this cctest");
    if (!(ranks >= 1 && ranks <= JOB_RANKS_MOST) || ranks != floor(ranks))
        return cell_refuse(reader, "its ranks are no whole number from 1");
    if (!(bytes >= 0 && bytes < 0x1p60) || bytes != floor(bytes))
        return cell_refuse(reader, "its bytes are no whole number from 0");
    cell->ranks = (int)ranks;
    cell->nodes = nodes >= 1 && nodes <= ranks ? (int)nodes : 1;
    cell->bytes = (size_t)bytes;
    return algorithms_read(reader);
}

/* The setting of the measurements. */
static void machine_read(const json_t *document, struct tuned *tuned)
{
    const json_t *machine = json_object_get(document, "machine");
    const json_t *options = json_object_get(document, "options");
    double threads = number_of(machine, "threads");
    snprintf(tuned->cpu, sizeof tuned->cpu, "%s", word_of(machine, "cpu"));
    snprintf(tuned->memory, sizeof tuned->memory, "%s", word_of(options, "memory"));
    snprintf(tuned->transport, sizeof tuned->transport, "%s", word_of(options, "transport"));
    snprintf(tuned->protocol, sizeof tuned->protocol, "%s", word_of(options, "protocol"));
    const char *type = json_string_value(json_array_get(json_object_get(options, "datatype"), 0));
    snprintf(tuned->datatype, sizeof tuned->datatype, "%s",
             type ? type : word_of(options, "datatype"));
    tuned->threads = threads >= 1 && threads < 1 << 20 ? (int)threads : 0;
}

static enum status cells_read(const char *path, const json_t *document, struct tuned *tuned)
{
    const json_t *cells = json_object_get(document, "cells");
    size_t count = json_array_size(cells);
    if (count > CELLS_MOST)
        return fail(STATUS_USAGE, "%.200s has %zu cells, and %d are read at most: tune fewer sizes",
                    path, count, CELLS_MOST);
    tuned->path = path;
    tuned->arena = arena_create();
    tuned->cells = tuned->arena ? arena_take(tuned->arena, count * sizeof *tuned->cells) : NULL;
    if (!tuned->cells)
        return memory_refuse(path);
    for (size_t c = 0; c < count; c++) {
        const struct cell_reader reader = {.path = path,
                                           .tuned = tuned,
                                           .number = c + 1,
                                           .json = json_array_get(cells, c),
                                           .cell = &tuned->cells[c]};
        enum status status = cell_read(&reader);
        if (status != STATUS_OK)
            return status;
    }
    tuned->count = count;
    machine_read(document, tuned);
    tuned_seal(tuned);
    return STATUS_OK;
}

enum status tuning_document_read(const char *path, const json_t *document, struct tuned **tuned)
{
    *tuned = NULL;
    if (strcmp(word_of(document, "command"), "tune") != 0)
        return fail(STATUS_USAGE,
                    "%.200s is not of cctest tune: give a file that cctest tune --json "
                    "wrote",
                    path);
    if (json_array_size(json_object_get(document, "cells")) == 0)
        return fail(STATUS_USAGE, "%.200s has no measurements: make it again with cctest tune",
                    path);
    *tuned = calloc(1, sizeof **tuned);
    enum status status = *tuned ? cells_read(path, document, *tuned) : memory_refuse(path);
    if (status != STATUS_OK) {
        tuned_free(*tuned);
        *tuned = NULL;
    }
    return status;
}

enum status tuning_file_read(const char *path, struct tuned **tuned)
{
    json_t *document;
    *tuned = NULL;
    enum status status = document_read(path, &document);
    if (status == STATUS_OK)
        status = tuning_document_read(path, document, tuned);
    json_decref(document);
    return status;
}

/*
 * Writing.
 */
/* The setting of the measurements. Other hosts are taken to have what rank 0's has. */
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

json_t *tuning_json(const struct tuner *tuner, json_t *options, const enum status *status)
{
    json_t *document = json_document(), *cells = json_array();
    if (!document || !cells) {
        json_decref(options);
        json_decref(document);
        json_decref(cells);
        return NULL;
    }
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
    json_object_set_new(document, "options", options);
    json_object_set_new(document, "machine", machine_json(tuner));
    json_object_set_new(document, "seconds",
                        json_real(tuner->began > 0 ? clock_seconds() - tuner->began : 0));
    json_object_set_new(document, "unmeasured", json_integer(tuner->unmeasured));
    json_object_set_new(document, "unpredicted", json_integer(tuner->unpredicted));
    json_object_set_new(document, "cells", cells);
    json_object_set_new(document, "errors", errors_json(tuner));
    return document;
}
