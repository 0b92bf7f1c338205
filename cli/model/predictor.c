/*
 * predictor.c - the predictions beside the lines of a run.
 */
#include "cli/model/predictor.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/model/model_file.h"

/* The other ranks wait while rank 0 predicts: about a second at most. Of more ranks even the schedules
 * take too long. */
#define RANKS_MOST  256
#define EVENTS_MOST 2000000

/* A cache line that takes so many times as long as in the model is between other cores. */
#define CORES_MOVED 2

enum status predictor_open(struct predictor *predictor, const struct job *job)
{
    *predictor = (struct predictor){0};
    return job->model ? model_read(job->model, &predictor->model) : STATUS_OK;
}

void predictor_close(struct predictor *predictor)
{
    free(predictor->model);
    free(predictor->node);
    *predictor = (struct predictor){0};
}

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

void predictor_begin(struct predictor *predictor, const struct job *job,
                     const struct participants *participants)
{
    if (!predictor->model || participants->model)
        return;
    predictor->split = participants->split;
    predictor->node = nodes_of(participants);
    predictor_warn(predictor, job, participants->members[0].host);
}

/* The latency of a cache line by this transport within a host, us, the least and the most of the model's
 * links; false: the model has none. */
static bool line_latency(const struct model *model, const char *transport, double *least,
                         double *most)
{
    *least = *most = 0;
    for (int i = 0; i < model->link_count; i++) {
        const struct link_model *link = &model->links[i];
        if (link->distance == DISTANCE_NETWORK || strcmp(link->transport, transport) != 0)
            continue;
        for (int p = 0; p < link->path_count; p++) {
            if (link->paths[p].path != PATH_LINE || link->paths[p].latency <= 0)
                continue;
            const double latency = link->paths[p].latency;
            *least = *most > 0 && *least < latency ? *least : latency;
            *most = *most > latency ? *most : latency;
        }
    }
    return *most > 0;
}

void predictor_connected(const struct predictor *predictor, const struct job *job,
                         const struct connectivity *connectivity)
{
    if (!predictor->model || !predictor->node)
        return;
    for (int i = 0; i < connectivity->class_count; i++) {
        const struct link_class *class = &connectivity->classes[i];
        const double nearest = (double)class->least_ns / 1e3;
        const double farthest = (double)class->most_ns / 1e3;
        double least, most;
        if (farthest <= 0 || !line_latency(predictor->model, class->transport, &least, &most))
            continue;
        const bool farther = farthest > CORES_MOVED * most;
        if (farther || nearest * CORES_MOVED < least)
            say("a cache line takes %.0f ns over %s, and %.0f in the model %s: the cores of this "
                "job are %s each other than when the model was made, so its predictions are too "
                "%s; cctest fit makes one here",
                1e3 * (farther ? farthest : nearest), class->transport,
                1e3 * (farther ? most : least), job->model, farther ? "farther from" : "nearer to",
                farther ? "short" : "long");
    }
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

void predictor_line(struct predictor *predictor, const struct job *job, struct result *result)
{
    if (!predictor->model || !predictor->node)
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
