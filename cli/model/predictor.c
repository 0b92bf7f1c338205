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

/* What a cache line took over this transport while the model was made. */
static struct line_time line_time_of(const struct model *model, const char *transport)
{
    struct line_time line = {0};
    for (int i = 0; i < model->link_count; i++)
        if (strcmp(model->links[i].transport, transport) == 0)
            line_time_add(&line, model->links[i].line.least, model->links[i].line.most);
    return line;
}

void predictor_connected(const struct predictor *predictor, const struct job *job,
                         const struct connectivity *connectivity)
{
    if (!predictor->model || !predictor->node)
        return;
    for (int i = 0; i < connectivity->class_count; i++) {
        const struct link_class *class = &connectivity->classes[i];
        const double nearest = (double)class->least_ns, farthest = (double)class->most_ns;
        const struct line_time line = line_time_of(predictor->model, class->transport);
        const double least = line.least * 1e3, most = line.most * 1e3;
        if (farthest <= 0 || most <= 0)
            continue;
        const bool farther = farthest > LINE_MOVED * most;
        if (farther || nearest * LINE_MOVED < least)
            say("a cache line takes %.0f ns over %s, and %.0f where the model %s was made: the "
                "cores of this job are %s each other, so its predictions are too %s; cctest fit "
                "makes one here",
                farther ? farthest : nearest, class->transport, farther ? most : least, job->model,
                farther ? "farther from" : "nearer to", farther ? "short" : "long");
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
