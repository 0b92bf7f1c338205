/*
 * prediction.c - how long a line of a job would take, by a model.
 */
#include "predict/predict.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "collective/collective.h"
#include "run/run.h"

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

/* The problem of each group, and the counts that it refers to. */
struct group_problems {
    int groups;
    struct problem *problem;
    struct counts **counts;
};

static void group_problems_free(struct group_problems *all)
{
    for (int g = 0; g < all->groups && all->counts; g++)
        counts_free(all->counts[g]);
    free(all->problem);
    free(all->counts);
}

static enum status group_problems_make(const struct job *job, const struct candidate *candidate,
                                       size_t bytes, const struct split *split,
                                       struct group_problems *all)
{
    int groups = split->groups->groups;
    *all = (struct group_problems){.groups = groups,
                                   .problem = calloc((size_t)groups, sizeof *all->problem),
                                   .counts = calloc((size_t)groups, sizeof *all->counts)};
    if (!all->problem || !all->counts)
        return fail(STATUS_ERROR, "out of memory for %d groups of ranks", groups);
    enum status status = STATUS_OK;
    for (int g = 0; g < groups && status == STATUS_OK; g++) {
        const struct rank_group group = split_group(split, g);
        struct sized_problem sized;
        status = job_problem(job, candidate, bytes, &group, &sized);
        all->problem[g] = sized.problem;
        all->counts[g] = sized.counts;
    }
    return status;
}

static enum status problems_simulate(const struct job *job, const struct candidate *candidate,
                                     const struct group_problems *all,
                                     const struct prediction_setting *setting,
                                     const struct model *model, struct simulated *simulated)
{
    const struct simulation simulation = {
        .model = model,
        .choice = &candidate->choice,
        .problem = all->problem,
        .groups = all->groups,
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
        .barrier = setting->barrier,
        .events_most = setting->events_most,
        .step_end = setting->step_end,
        .steps = setting->steps,
        .group_time = setting->group_time,
        .pieces = all->groups * all->problem->ranks < RANKS_MANY ? PIECES_MOST : PIECES_MANY,
    };
    return simulate(&simulation, simulated);
}

enum status prediction_make(const struct job *job, const struct candidate *candidate, size_t bytes,
                            const struct split *split, const struct prediction_setting *setting,
                            const struct model *model, struct prediction *prediction)
{
    struct group_problems all;
    enum status status = prediction_check(job);
    if (status != STATUS_OK)
        return status;
    if (candidate->choice.algorithm->vendor)
        return fail(STATUS_USAGE, "%s runs steps of its own, which a model cannot know: name another "
                                  "algorithm with -a",
                    candidate->choice.algorithm->vendor);
    if (candidate->collective->sized && candidate->collective->reduces && model->combine_count == 0)
        return fail(STATUS_USAGE, "the model has no costs of combining elements, as %s needs: make one "
                                  "with cctest fit -o FILE",
                    candidate->collective->name);
    status = group_problems_make(job, candidate, bytes, split, &all);
    if (status == STATUS_OK) {
        *prediction = (struct prediction){
            .count = all.problem->count,
            .bytes = collective_bytes(all.problem, candidate->datatype->size)};
        status = problems_simulate(job, candidate, &all, setting, model, &prediction->simulated);
    }
    const double trips = (double)candidate_trips(candidate);
    for (int s = 0; s < setting->steps && status == STATUS_OK; s++)
        setting->step_end[s] /= trips;
    for (int g = 0; g < split->groups->groups && setting->group_time && status == STATUS_OK; g++)
        setting->group_time[g] /= trips;
    if (status == STATUS_OK)
        prediction->time = prediction->simulated.time / trips;
    group_problems_free(&all);
    return status;
}
