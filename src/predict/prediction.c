/*
 * prediction.c - how long a line of a job would take, by a model.
 */
#include "predict/predict.h"

#include "base/log.h"
#include "collective/collective.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_MOST 16 /* of a message */
#define PIECES_MANY 4  /* where there are many ranks */
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
        return fail(STATUS_USAGE,
                    "%s runs steps of its own, which a model cannot know: name another "
                    "algorithm with -a",
                    candidate->choice.algorithm->vendor);
    if (candidate->collective->sized && candidate->collective->reduces && model->combine_count == 0)
        return fail(STATUS_USAGE,
                    "the model has no costs of combining elements, as %s needs: make one "
                    "with cctest fit -o FILE",
                    candidate->collective->name);
    status = group_problems_make(job, candidate, bytes, split, &all);
    if (status == STATUS_OK) {
        *prediction =
            (struct prediction){.count = all.problem->count,
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

/*
 * The predictions beside the lines of a run.
 */
/* The other ranks wait while rank 0 predicts: about a second at most. Of more ranks even the
 * schedules take too long. */
#define RANKS_MOST  256
#define EVENTS_MOST 2000000

static int *nodes_of(const struct participants *participants)
{
    int *host = calloc((size_t)participants->ranks, sizeof *host), *node = NULL;
    for (int r = 0; host && r < participants->ranks; r++)
        host[r] = participants->members[r].node;
    if (host)
        node = hosts_number(host, participants->ranks);
    free(host);
    return node;
}

void predictor_warn(const struct predictor *predictor, const struct job *job, const char *host)
{
    if (strcmp(predictor->model->host, host) != 0)
        say("the model %s was made on %s, and rank 0 runs on %s: its predictions hold for machines "
            "that are alike; cctest fit makes one here",
            job->model, predictor->model->host, host);
}

/* The ranks are known. */
static void predictor_begin(struct report_predictor *begun, const struct job *job,
                            const struct participants *participants)
{
    struct predictor *predictor = (struct predictor *)begun;
    predictor->split = participants->split;
    predictor->node = nodes_of(participants);
    predictor_warn(predictor, job, participants->members[0].host);
}

/* The latency of all links of a transport: a class of the job's links tells no distance. */
static struct core_latency core_latency_of(const struct model *model, const char *transport)
{
    struct core_latency core = {0};
    for (int i = 0; i < model->link_count; i++)
        if (strcmp(model->links[i].transport, transport) == 0)
            core_latency_add(&core, model->links[i].core.least, model->links[i].core.most);
    return core;
}

/* The ranks are connected. Says if the latency between their cores is another than when the model
 * was made. */
static void predictor_connected(struct report_predictor *connected, const struct job *job,
                                const struct connectivity *connectivity)
{
    const struct predictor *predictor = (struct predictor *)connected;
    const struct link_class *slowest = NULL;
    for (int i = 0; i < connectivity->class_count; i++)
        if (!slowest || connectivity->classes[i].most_ns > slowest->most_ns)
            slowest = &connectivity->classes[i];
    if (!predictor->node || !slowest)
        return;
    const struct core_latency then = core_latency_of(predictor->model, slowest->transport);
    const double now = (double)slowest->most_ns;
    if (now <= 0 || then.most <= 0)
        return;
    if (now > CORES_MOVED_FACTOR * then.most)
        say("a cache line takes up to %.0f ns one way over %s (from rank %d to %d), and took at "
            "most %.0f when the "
            "model %s was made: the cores are farther apart, so predicted times may be too short; "
            "cctest "
            "fit makes a model of these cores",
            now, slowest->transport, slowest->from, slowest->to, then.most, job->model);
    else if (now * CORES_MOVED_FACTOR < then.least)
        say("a cache line takes at most %.0f ns one way over %s, and took at least %.0f when the "
            "model %s was made: "
            "the cores are nearer to each other, so predicted times may be too long; cctest fit "
            "makes a "
            "model of these cores",
            now, slowest->transport, then.least, job->model);
}

double predictor_time(struct predictor *predictor, const struct job *job,
                      const struct candidate *candidate, size_t bytes, const struct split *split,
                      struct prediction_setting setting)
{
    struct prediction prediction;
    struct failure failure;
    struct log own, *log = log_current();
    const struct shape *groups = split->groups;
    if (groups->start[groups->groups] > RANKS_MOST) {
        if (!predictor->silent)
            say("no prediction for more than %d ranks, while they wait for it: use cctest predict",
                RANKS_MOST);
        predictor->silent = true;
        return 0;
    }
    setting.events_most = EVENTS_MOST;
    setting.barrier = job->start == START_BARRIER;
    log_init(&own, -1, 0); /* what cannot be predicted is no failure of the job */
    log_attach(&own);
    enum status status =
        prediction_make(job, candidate, bytes, split, &setting, predictor->model, &prediction);
    log_attach(log);
    if (status == STATUS_OK)
        return prediction.time;
    if (!predictor->silent && log_failure(&own, &failure))
        say("no prediction: %s", failure.text);
    predictor->silent = true;
    return 0;
}

/* Without a prediction the times stay 0. */
static void predictor_result(struct report_predictor *asked, const struct job *job,
                             struct result *result)
{
    struct predictor *predictor = (struct predictor *)asked;
    if (!predictor->node)
        return;
    double *step_end = calloc((size_t)result->steps + 1, sizeof *step_end);
    const struct prediction_setting setting = {
        .node = predictor->node, .step_end = step_end, .steps = step_end ? result->steps : 0};
    result->predicted_us = predictor_time(predictor, job, &job->candidates[result->choice],
                                          result->asked, predictor->split, setting);
    for (int s = 0; s < setting.steps && result->predicted_us > 0; s++)
        result->step_end[s].predicted_us = step_end[s];
    free(step_end);
}

enum status predictor_open(struct predictor *predictor, const char *path)
{
    *predictor = (struct predictor){.report = {.begin = predictor_begin,
                                               .connected = predictor_connected,
                                               .result = predictor_result}};
    return path ? model_read(path, &predictor->model) : STATUS_OK;
}

void predictor_close(struct predictor *predictor)
{
    free(predictor->model);
    free(predictor->node);
    *predictor = (struct predictor){0};
}
