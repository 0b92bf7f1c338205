/*
 * prediction.c - how long a line of a job would take, by a model.
 */
#include "cli/model/prediction.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "collective/shape.h"
#include "run/candidates.h"
#include "run/channel_count.h"

#define PIECES_MOST 16   /* of a message */
#define PIECES_MANY 4    /* where there are many ranks */
#define RANKS_MANY  1024

int *hosts_number(const int *host, int ranks)
{
    struct shape *shape = shape_create(host, ranks);
    int *node = calloc((size_t)ranks, sizeof *node);
    for (int r = 0; shape && node && r < ranks; r++)
        node[r] = shape->group[r];
    if (!shape) {
        free(node);
        node = NULL;
    }
    shape_free(shape);
    return node;
}

enum status prediction_check(const struct job *job)
{
    if (job->memory->host_reads)
        return STATUS_OK;
    return fail(STATUS_USAGE, "a model knows the costs of host memory, and not those of -m %s",
                job->memory->name);
}

enum status prediction_make(const struct job *job, const struct candidate *candidate, size_t bytes,
                            const struct rank_group *group,
                            const struct prediction_setting *setting,
                            const struct model *model, struct prediction *prediction)
{
    struct sized_problem sized;
    enum status status = prediction_check(job);
    if (status != STATUS_OK)
        return status;
    if (candidate->choice.algorithm->vendor)
        return fail(STATUS_USAGE, "%s runs steps of its own, which a model cannot know: name another "
                                  "algorithm with -a",
                    candidate->choice.algorithm->vendor);
    status = job_problem(job, candidate, bytes, group, &sized);
    if (status != STATUS_OK)
        return status;
    const struct simulation simulation = {
        .model = model,
        .choice = &candidate->choice,
        .problem = &sized.problem,
        .channels = channel_count_host(job),
        .datatype = candidate->datatype,
        .reduction = candidate->reduction,
        .memory = job->memory,
        .transports = job->transports,
        .copy = job->copy,
        .chunk = job->chunk,
        .shared = strcmp(job->memory->name, "shared") == 0,
        .node = setting->node,
        .topology = setting->topology,
        .end = setting->end,
        .events_most = setting->events_most,
        .step_end = setting->step_end,
        .steps = setting->steps,
        .pieces = sized.problem.ranks < RANKS_MANY ? PIECES_MOST : PIECES_MANY,
    };
    *prediction = (struct prediction){
        .count = sized.problem.count,
        .bytes = collective_bytes(&sized.problem, candidate->datatype->size)};
    status = simulate(&simulation, &prediction->simulated);
    const double trips = (double)candidate_trips(candidate);
    prediction->time = prediction->simulated.time / trips;
    for (int s = 0; s < setting->steps; s++)
        setting->step_end[s] /= trips;
    counts_free(sized.counts);
    return status;
}
