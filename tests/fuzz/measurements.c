/*
 * measurements.c - JSON of earlier runs that a user gives: results, compared with the guidelines; a
 * model, by which times are predicted; and what was tuned, from which algorithms are picked and
 * files for other libraries are made.
 *
 * Input: a document.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "cli/tune/export/internal.h"
#include "cli/report/report.h"
#include "tune/tune.h"
#include "predict/predict.h"
#include "fuzz.h"
#include "predict/simulate/simulate.h"

#define LINES_MOST 200 /* each is compared with each */

static void results_judge(const json_t *document)
{
    struct timed_lines lines = {0};
    struct violation *violations = NULL;
    size_t found = 0;
    require(timed_lines_add(&lines, document, "") == STATUS_OK);
    if (lines.count <= LINES_MOST &&
        guidelines_check(lines.lines, lines.count, &violations, &found) == STATUS_OK)
        for (size_t i = 0; i < found; i++) {
            char text[VIOLATION_TEXT_MOST];
            require(violations[i].ratio > 1 && isfinite(violations[i].bound));
            require(i == 0 || violations[i].ratio <= violations[i - 1].ratio);
            require(violations[i].line < lines.count && violations[i].best < lines.count);
            violation_text(lines.lines, &violations[i], text);
            for (const char *at = text; *at; at++)
                require((unsigned char)*at >= ' ');
        }
    free(violations);
    timed_lines_free(&lines);
}

static void tuned_use(const struct tuned *tuned)
{
    static const int ranks[] = {1, 2, 5, 8, 1000};
    struct tuned_pick pick;
    for (size_t c = 0; c < tuned->count; c++)
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
            for (size_t bytes = 0; bytes < (size_t)1 << 40; bytes = bytes * 37 + 8) {
                const struct problem problem = {.collective = tuned->cells[c].collective,
                                                .ranks = ranks[r]};
                if (!problem.collective->counted && tuned_choose(tuned, &problem, bytes, &pick))
                    require(pick.algorithm->time > 0 && pick.why[0]);
            }
    FILE *out = fopen("/dev/null", "w");
    if (!out)
        abort();
    ompi_write(out, tuned);
    nccl_write(out, tuned);
    fclose(out);
    json_decref(mpich_json(tuned));
}

/* A model that is taken predicts something. */
static void model_use(const json_t *document)
{
    struct model *model;
    if (model_document_read("m.json", document, &model) != STATUS_OK)
        return;
    const struct transport_choice choices[] = {{.transport = transport_find("tcp")}, {NULL}};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, "rabenseifner"));
    const struct problem problem = {
        .collective = collective_of(COLLECTIVE_ALLREDUCE), .ranks = 5, .count = 40000};
    static const int node[] = {0, 0, 1, 1, 2};
    const struct simulation simulation = {.model = model,
                                          .choice = &choice,
                                          .problem = &problem,
                                          .groups = 1,
                                          .channels = 1,
                                          .datatype = datatype_find("float"),
                                          .reduction = reduction_find("sum"),
                                          .memory = memory_find("host"),
                                          .transports = choices,
                                          .chunk = GRAIN_AUTO,
                                          .node = node,
                                          .pieces = 16};
    struct simulated simulated;
    if (simulate(&simulation, &simulated) == STATUS_OK) {
        require(simulated.time >= 0 && isfinite(simulated.time));
    }
    free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log log;
    struct tuned *tuned;
    json_t *document = json_loadb((const char *)data, size, 0, NULL);
    log_init(&log, 0, 0);
    log_attach(&log);
    if (document) {
        results_judge(document);
        model_use(document);
        if (tuning_document_read("t.json", document, &tuned) == STATUS_OK)
            tuned_use(tuned);
        else
            require(!tuned && log.failure.status != STATUS_OK);
        tuned_free(tuned);
    }
    json_decref(document);
    log_attach(NULL);
    return 0;
}

static void seed(const char *name, json_t *document)
{
    char *text = json_dumps(document, 0);
    if (!text)
        abort();
    fuzz_seed(name, text, strlen(text));
    free(text);
    json_decref(document);
}

static json_t *result(const char *collective, int bytes, double time)
{
    return json_pack("{s:s, s:s, s:{s:i}, s:s, s:s, s:i, s:i, s:i, s:{s:f, s:f, s:f}}",
                     "collective", collective, "algorithm", "knomial", "algorithm_options", "radix",
                     4, "datatype", "float", "op", "sum", "ranks", 4, "bytes", bytes, "wrong", 0,
                     "time_us", "p50", time, "min", time, "max", time);
}

static json_t *cell(const char *collective, int ranks, int bytes)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:[{s:s, s:f, s:f, s:f}, {s:s, s:f}]}", "collective",
                     collective, "ranks", ranks, "nodes", 1, "bytes", bytes, "algorithms",
                     "algorithm", "ring", "time_us", 10.0, "low_us", 9.0, "high_us", 12.0,
                     "algorithm", "mesh", "time_us", 11.0);
}

static json_t *model(void)
{
    static const struct path_cost path = {.path = PATH_BCOPY,
                                          .movement = MOVEMENT_PUSH,
                                          .latency = 5,
                                          .send_overhead = 1,
                                          .receive_overhead = 1,
                                          .send_byte = {2, {{1e4, 1e-4}, {1e7, 2e-4}}},
                                          .receive_byte = {1, {{1e4, 1e-4}}},
                                          .sharing = 2,
                                          .wire = 1e-3,
                                          .gap = 1,
                                          .window = 65536};
    struct model *model = calloc(1, sizeof *model);
    if (!model)
        abort();
    *model = (struct model){.host = "h",
                            .cores = 2,
                            .caches = 1,
                            .cache_cores = 2,
                            .start = 0.1,
                            .core_switch = 1,
                            .bus = {1, {{1, 1e-5}}}};
    model->combines[model->combine_count++] =
        (struct combine_cost){.datatype = "float", .reduction = "sum", .byte = {1, {{1, 1e-4}}}};
    for (int d = 0; d < DISTANCES; d++)
        model->links[model->link_count++] = (struct link_model){.transport = "tcp",
                                                                .distance = (enum rank_distance)d,
                                                                .port = PORT_NODE,
                                                                .core = {20, 45},
                                                                .paths = {path},
                                                                .path_count = 1};
    json_t *document = model_json(model, NULL);
    free(model);
    return document;
}

void fuzz_seeds(void)
{
    seed("model", model());
    seed("results", json_pack("{s:[o, o, o, o]}", "results", result("allreduce", 1024, 90),
                              result("reduce", 1024, 20), result("broadcast", 1024, 10),
                              result("broadcast", 4096, 5)));
    seed("tuned", json_pack("{s:s, s:{s:s, s:i}, s:{s:s, s:s}, s:[o, o, o]}", "command", "tune",
                            "machine", "cpu", "x", "threads", 2, "options", "memory", "host",
                            "protocol", "ll", "cells", cell("allreduce", 4, 1024),
                            cell("allreduce", 8, 65536), cell("reduce_scatter", 4, 1024)));
}
