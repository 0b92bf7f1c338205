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
#include "base/io/io.h"
#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "collective/formats/formats.h"
#include "host/facts/facts.h"

#define CELLS_MOST 20000
#define TIME_LEAST 1e-6 /* us */
#define TIME_MOST  1e12
#define BYTES_MOST 0x1p60
#define REMEDY     "make the file again with cctest tune"

struct tuning_reader {
    struct json_reader json;
    struct tuned *tuned;
};

/* "bruck:radix=4" at "algorithm". */
static void choice_read(struct tuning_reader *reader, const json_t *object,
                        const struct collective *collective, struct tuned_algorithm *algorithm)
{
    struct json_reader *json = &reader->json;
    char text[CANDIDATE_TEXT_MOST], part[JSON_PLACE_MOST + 20];
    const struct failure_place place = {.file = json->path, .part = part};
    json_reader_text(json, object, "algorithm", text, sizeof text);
    char *copy = json_reader_take(json, reader->tuned->arena, strlen(text) + 1, 1);
    if (!copy)
        return;
    algorithm->text = strcpy(copy, text);
    snprintf(part, sizeof part, "%salgorithm", json->place);
    fail_within(&place);
    json->status = choice_parse(collective, text, &algorithm->choice);
    fail_within(NULL);
}

static void algorithm_read(struct tuning_reader *reader, const json_t *object,
                           const struct collective *collective, struct tuned_algorithm *algorithm)
{
    double low = number_of(object, "low_us"), high = number_of(object, "high_us");
    double time = json_reader_number(&reader->json, object, "time_us", TIME_LEAST, TIME_MOST);
    algorithm->time = time;
    algorithm->low = low > 0 && low < time ? low : time;
    algorithm->high = high > time ? high : time;
    choice_read(reader, object, collective, algorithm);
}

static int time_compare(const void *a, const void *b)
{
    const struct tuned_algorithm *x = a, *y = b;
    return COMPARE(x->time, y->time);
}

static void algorithms_read(struct tuning_reader *reader, const json_t *object,
                            struct tuned_cell *cell)
{
    struct json_reader *json = &reader->json;
    const json_t *list = json_reader_array(json, object, "algorithms", TUNED_MOST);
    size_t count = json_array_size(list);
    if (count == 0)
        json_reader_fail(json, "algorithms", "is empty");
    cell->algorithms =
        json_reader_take(json, reader->tuned->arena, count, sizeof *cell->algorithms);
    for (size_t i = 0; i < count && json->status == STATUS_OK; i++) {
        size_t before = json_reader_enter(json, "algorithms", i);
        algorithm_read(reader, json_array_get(list, i), cell->collective, &cell->algorithms[i]);
        json_reader_leave(json, before);
    }
    if (json->status != STATUS_OK)
        return;
    cell->count = (int)count;
    qsort(cell->algorithms, count, sizeof *cell->algorithms, time_compare);
}

static void cell_read(struct tuning_reader *reader, const json_t *object, struct tuned_cell *cell)
{
    struct json_reader *json = &reader->json;
    double nodes = number_of(object, "nodes");
    *cell = (struct tuned_cell){.collective = collective_find(word_of(object, "collective"))};
    if (!cell->collective)
        json_reader_fail(json, "collective", "is none of this cctest");
    cell->ranks = json_reader_whole(json, object, "ranks", 1, JOB_RANKS_MOST);
    cell->nodes = nodes >= 1 && nodes <= cell->ranks ? (int)nodes : 1;
    double bytes = json_reader_number(json, object, "bytes", 0, BYTES_MOST);
    if (bytes != floor(bytes))
        json_reader_fail(json, "bytes", "is no whole number");
    cell->bytes = (size_t)bytes;
    algorithms_read(reader, object, cell);
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
    struct tuning_reader reader = {.json = {.path = path, .remedy = REMEDY}, .tuned = tuned};
    const json_t *cells = json_reader_array(&reader.json, document, "cells", CELLS_MOST);
    size_t count = json_array_size(cells);
    tuned->path = path;
    tuned->arena = arena_create();
    tuned->cells = json_reader_take(&reader.json, tuned->arena, count, sizeof *tuned->cells);
    for (size_t c = 0; c < count && reader.json.status == STATUS_OK; c++) {
        size_t before = json_reader_enter(&reader.json, "cells", c);
        cell_read(&reader, json_array_get(cells, c), &tuned->cells[c]);
        json_reader_leave(&reader.json, before);
    }
    if (reader.json.status != STATUS_OK)
        return reader.json.status;
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
    *tuned = new_array(1, sizeof **tuned);
    enum status status = cells_read(path, document, *tuned);
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

struct timed_racer {
    struct racer racer;
    double low, high;
};

const struct json_field tuned_algorithm_fields[] = {
    {"algorithm", "name", "algorithm with its options, as -a takes it",
     JSON_MEMBER(struct timed_racer, racer.text)},
    {"time_us", "microseconds", "median of its rounds, each over its level",
     JSON_MEMBER(struct timed_racer, racer.time)},
    {"low_us", "microseconds", "least of its rounds over their median, times time_us",
     JSON_MEMBER(struct timed_racer, low)},
    {"high_us", "microseconds", "greatest, likewise", JSON_MEMBER(struct timed_racer, high)},
    {"rounds", "positive", "rounds in which it was measured",
     JSON_MEMBER(struct timed_racer, racer.rounds)},
    {0},
};

static json_t *cell_algorithms(const void *object, const void *context)
{
    const struct race *sorted = object;
    json_t *list = json_array();
    for (int i = 0; i < sorted->count; i++) {
        struct timed_racer timed = {.racer = sorted->racers[i]};
        if (timed.racer.wrong || timed.racer.time <= 0)
            continue;
        racer_interval(&timed.racer, &timed.low, &timed.high);
        json_array_append_new(list, json_object_of(tuned_algorithm_fields, &timed, context));
    }
    return list;
}

const struct json_field pruned_algorithm_fields[] = {
    {"algorithm", "name", "algorithm with its options, as -a takes it",
     JSON_MEMBER(struct entrant, text)},
    {"predicted_us", "microseconds", "time of an iteration by the model",
     JSON_MEMBER(struct entrant, predicted)},
    {0},
};

static json_t *cell_pruned(const void *object, const void *context)
{
    const struct race *race = object;
    return json_list_of(pruned_algorithm_fields, race->pruned, sizeof *race->pruned,
                        (size_t)race->pruned_count, context);
}

static json_t *cell_wrong(const void *object, const void *context)
{
    const struct race *race = object;
    json_t *list = json_array();
    (void)context;
    for (int i = 0; i < race->count; i++)
        if (race->racers[i].wrong)
            json_array_append_new(list, json_string(race->racers[i].text));
    return list;
}

static json_t *cell_margin(const void *object, const void *context)
{
    double margin = race_margin(object);
    (void)context;
    return margin > 0 ? json_real(margin) : json_null();
}

const struct json_field tuned_cell_fields[] = {
    {"collective", "name", "name of the collective", JSON_NAME(struct race, collective)},
    {"ranks", "positive", "number of ranks", JSON_MEMBER(struct race, ranks)},
    {"nodes", "positive", "hosts of these ranks", JSON_MEMBER(struct race, nodes)},
    {"transport", "string", "that connected them, as in a result",
     JSON_MEMBER(struct race, transport)},
    {"bytes", "count", "of the larger buffer of one rank", JSON_MEMBER(struct race, bytes)},
    {"rounds", "count", "rounds of measurements so far", JSON_MEMBER(struct race, rounds)},
    {"margin", "quantity_or_null",
     "time of the second over that of the first; null: there is no second", JSON_MADE(cell_margin)},
    {"algorithms", "[tuned_algorithm]",
     "the winner first, those that were out before the last round last",
     JSON_MADE(cell_algorithms)},
    {"pruned", "[pruned_algorithm]",
     "algorithms that were not measured, since the model of --model predicts that they are far "
     "behind",
     JSON_MADE(cell_pruned)},
    {"wrong", "names", "algorithms with wrong data", JSON_MADE(cell_wrong)},
    {0},
};

/* A copy, the winner first: the races go on. NULL: out of memory. */
static json_t *cell_json(const struct race *race)
{
    struct race sorted = *race;
    sorted.racers = malloc((size_t)race->count * sizeof *sorted.racers);
    if (!sorted.racers)
        return NULL;
    memcpy(sorted.racers, race->racers, (size_t)race->count * sizeof *sorted.racers);
    race_sort(&sorted);
    json_t *cell = json_object_of(tuned_cell_fields, &sorted, NULL);
    free(sorted.racers);
    return cell;
}

struct tuning {
    const struct tuner *tuner;
    const char *command, *status, *bootstrap;
    json_t *options;
    double seconds;
    int unmeasured, unpredicted;
};

static json_t *tuning_machine(const void *object, const void *context)
{
    (void)context;
    return machine_json(((const struct tuning *)object)->tuner);
}

/* Races of which nothing is known yet are left out. */
static json_t *tuning_cells(const void *object, const void *context)
{
    const struct tuner *tuner = ((const struct tuning *)object)->tuner;
    json_t *cells = json_array();
    (void)context;
    for (int i = 0; i < tuner->race_count; i++) {
        const struct race *race = &tuner->races[i];
        json_t *cell = race->count > 0 ? cell_json(race) : NULL;
        if (json_array_size(json_object_get(cell, "algorithms")) > 0 ||
            json_array_size(json_object_get(cell, "wrong")) > 0)
            json_array_append(cells, cell);
        json_decref(cell);
    }
    return cells;
}

static json_t *tuning_errors(const void *object, const void *context)
{
    const struct tuner *tuner = ((const struct tuning *)object)->tuner;
    struct failure failure;
    json_t *errors = json_array();
    (void)context;
    if (log_failure(log_current(), &failure))
        json_array_append_new(errors, json_string(failure.text));
    else if (tuner->failed > 0)
        json_array_append_new(errors, json_string(tuner->why));
    return errors;
}

const struct json_field tune_fields[] = {
    JSON_DOCUMENT,
    {"command", "tune_command", "command that wrote the document",
     JSON_MEMBER(struct tuning, command)},
    {"status", "status", NULL, JSON_MEMBER(struct tuning, status)},
    {"bootstrap", "name", "how the ranks met", JSON_MEMBER(struct tuning, bootstrap)},
    {"options", "tune_options", "options of the run", JSON_MEMBER(struct tuning, options)},
    {"machine", "tuned_machine", "what the times hold for", JSON_MADE(tuning_machine)},
    {"seconds", "amount", "since the first small job", JSON_MEMBER(struct tuning, seconds)},
    {"unmeasured", "count", "sizes that the budget did not suffice for",
     JSON_MEMBER(struct tuning, unmeasured)},
    {"unpredicted", "count",
     "algorithms of cells of which the model of --model said nothing, or had no time to",
     JSON_MEMBER(struct tuning, unpredicted)},
    {"cells", "[tuned_cell]", "one for each collective, rank count and size",
     JSON_MADE(tuning_cells)},
    {"errors", "names", "why the run failed, or else the first small job that did",
     JSON_MADE(tuning_errors)},
    {0},
};

json_t *tuning_json(const struct tuner *tuner, json_t *options, const enum status *status)
{
    const struct tuning tuning = {.tuner = tuner,
                                  .command = "tune",
                                  .status = status ? status_word(*status) : "running",
                                  .bootstrap = tuner->bootstrap,
                                  .options = options,
                                  .seconds = tuner->began > 0 ? clock_seconds() - tuner->began : 0,
                                  .unmeasured = tuner->unmeasured,
                                  .unpredicted = tuner->unpredicted};
    json_t *document = json_object_of(tune_fields, &tuning, NULL);
    json_decref(options);
    return document;
}
