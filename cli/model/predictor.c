/*
 * predictor.c - the predictions beside the lines of a run.
 */
#include "cli/model/predictor.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/model/model_file.h"
#include "cli/model/prediction.h"

/* The other ranks wait while rank 0 predicts: about a second at most. */
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

void predictor_begin(struct predictor *predictor, const struct job *job,
                     const struct participants *participants)
{
    const struct model *model = predictor->model;
    if (!model || participants->model)
        return;
    predictor->split = participants->split;
    predictor->node = nodes_of(participants);
    if (strcmp(model->host, participants->members[0].host) != 0)
        say("the model %s was made on %s, and rank 0 runs on %s: its predictions hold for machines "
            "that are alike; cctest fit makes one here",
            job->model, model->host, participants->members[0].host);
}

static enum status line_predict(const struct predictor *predictor, const struct job *job,
                                struct result *result)
{
    struct prediction prediction;
    double *step_end = calloc((size_t)result->steps + 1, sizeof *step_end);
    if (!step_end)
        return fail(STATUS_ERROR, "out of memory for the times of %d steps", result->steps);
    const struct prediction_setting setting = {.node = predictor->node,
                                               .events_most = EVENTS_MOST,
                                               .step_end = step_end,
                                               .steps = result->steps};
    enum status status = prediction_make(job, &job->candidates[result->choice], result->asked,
                                         predictor->split, &setting, predictor->model, &prediction);
    if (status == STATUS_OK)
        result->predicted_us = prediction.time;
    for (int s = 0; s < result->steps && status == STATUS_OK; s++)
        result->step_end[s].predicted_us = step_end[s];
    free(step_end);
    return status;
}

void predictor_line(struct predictor *predictor, const struct job *job, struct result *result)
{
    struct failure failure;
    struct log own, *log = log_current();
    if (!predictor->model || !predictor->node)
        return;
    const struct shape *groups = predictor->split->groups;
    if (groups->start[groups->groups] > RANKS_MOST) {
        if (!predictor->silent)
            say("no prediction beside a run of more than %d ranks: use cctest predict", RANKS_MOST);
        predictor->silent = true;
        return;
    }
    log_init(&own, -1, 0); /* a line that cannot be predicted is no failure of the job */
    log_attach(&own);
    enum status status = line_predict(predictor, job, result);
    log_attach(log);
    if (status == STATUS_OK)
        return;
    if (!predictor->silent && log_failure(&own, &failure))
        say("no prediction: %s", failure.text);
    predictor->silent = true;
}
