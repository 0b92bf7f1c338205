/*
 * benchmark.c - a line that was measured to fit a model, and what the model says of it.
 */
#include "predict/fit/fit.h"

#include <string.h>

#include "collective/collective.h"

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
                                          .node = benchmark->distance == DISTANCE_NETWORK ? apart : NULL,
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
