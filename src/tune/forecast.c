/*
 * forecast.c - what a model says of the algorithms that `cctest tune` is to measure.
 */
#include "tune/internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

/* The ranks of a race, and a job of all its algorithms on them. */
struct race_ranks {
    int *node;
    struct split split;
    struct job job; /* with candidates of its own */
};

static void race_ranks_free(struct race_ranks *ranks)
{
    free(ranks->node);
    split_free(&ranks->split);
    free(ranks->job.candidates);
}

static enum status race_ranks_place(const struct race *race, const struct known_agent *agents,
                                    struct race_ranks *ranks)
{
    int *host = new_array((size_t)race->ranks, sizeof *host);
    for (int r = 0; r < race->ranks; r++)
        host[r] = agents[r].host;
    ranks->node = hosts_number(host, race->ranks);
    free(host);
    return ranks->node ? job_split(&ranks->job, race->ranks, ranks->node, &ranks->split)
                       : fail(STATUS_ERROR, "out of memory for %d ranks", race->ranks);
}

/* As the small job of the race has them. */
static enum status race_ranks_make(const struct job *job, const struct race *race,
                                   const struct known_agent *agents, struct race_ranks *ranks)
{
    *ranks = (struct race_ranks){.job = *job};
    ranks->job.candidates = NULL;
    ranks->job.candidate_count = 0;
    ranks->job.choices_all = true;
    enum status status = job_add_all(&ranks->job, race->collective);
    job_cross(&ranks->job);
    if (status == STATUS_OK)
        status = race_ranks_place(race, agents, ranks);
    return status == STATUS_OK ? job_check_ranks(&ranks->job, race->ranks, &ranks->split) : status;
}

enum status forecast_predict(struct forecast *forecast, const struct race *race,
                             const struct known_agent *agents, double until,
                             struct entrant entrants[RACERS_MOST], int *count)
{
    struct race_ranks ranks;
    struct failure failure;
    struct log own, *log = log_current();
    log_init(&own, -1, 0); /* the small job itself will say why it cannot run on these ranks */
    log_attach(&own);
    enum status status = race_ranks_make(forecast->job, race, agents, &ranks);
    log_attach(log);
    *count = 0;
    for (int c = 0; status == STATUS_OK && c < ranks.job.candidate_count && c < RACERS_MOST; c++) {
        const struct prediction_setting setting = {.node = ranks.node};
        struct entrant *entrant = &entrants[(*count)++];
        *entrant = (struct entrant){.predicted = 0};
        snprintf(entrant->text, sizeof entrant->text, "%s", ranks.job.candidates[c].text);
        if (clock_seconds() < until)
            entrant->predicted =
                predictor_time(&forecast->predictor, &ranks.job, &ranks.job.candidates[c],
                               race->asked, &ranks.split, setting);
    }
    race_ranks_free(&ranks);
    if (status == STATUS_OK || status == STATUS_USAGE)
        return STATUS_OK;
    return fail(status, "%s", log_failure(&own, &failure) ? failure.text : "out of memory");
}

enum status forecast_open(struct forecast *forecast, const struct job *job)
{
    *forecast = (struct forecast){.job = job};
    TRY(prediction_check(job));
    return predictor_open(&forecast->predictor, job->model);
}

void forecast_close(struct forecast *forecast)
{
    predictor_close(&forecast->predictor);
}
