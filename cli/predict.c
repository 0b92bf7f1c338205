/*
 * predict.c - `cctest predict`: how long collectives would take on ranks that need not be there.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/model/prediction.h"
#include "cli/printers/printers.h"
#include "measure/statistics.h"
#include "run/candidates.h"

/* The ranks of a job that does not run. */
struct absent_ranks {
    int ranks;
    int *node; /* of each rank */
    struct member *members;
    struct split split;
};

static void absent_ranks_free(struct absent_ranks *absent)
{
    free(absent->node);
    free(absent->members);
    split_free(&absent->split);
}

/* Hosts have as many ranks as --shape says; without it there is one. */
static enum status absent_ranks_make(const struct job *job, struct absent_ranks *absent)
{
    int ranks = job->bootstrap.np;
    int each = job->shape_ranks > 0 ? job->shape_ranks : ranks;
    *absent = (struct absent_ranks){.ranks = ranks,
                                    .node = calloc((size_t)ranks, sizeof *absent->node),
                                    .members = calloc((size_t)ranks, sizeof *absent->members)};
    if (!absent->node || !absent->members)
        return fail(STATUS_ERROR, "out of memory for %d ranks", ranks);
    for (int r = 0; r < ranks; r++) {
        absent->node[r] = r / each;
        absent->members[r] =
            (struct member){.rank = r, .node = r / each, .local_rank = r % each};
        snprintf(absent->members[r].host, sizeof absent->members[r].host, "host %d", r / each);
    }
    return job_split(job, ranks, absent->node, &absent->split);
}

static void result_report(struct report *report, const struct job *job, int choice, size_t asked,
                          const struct absent_ranks *absent, const struct prediction *prediction)
{
    const struct candidate *candidate = &job->candidates[choice];
    struct group_result group = {.timing = {.slowest = {.rank = -1}}};
    double time = prediction->time;
    group.timing.time_us = (struct statistics){
        .min = time, .p50 = time, .mean = time, .p90 = time, .p99 = NAN, .max = time};
    group.timing.algbw = bandwidth_algorithm(prediction->bytes, time);
    group.timing.busbw =
        group.timing.algbw * collective_bus_factor(candidate->collective, absent->ranks);
    if (!candidate->collective->sized)
        group.timing.algbw = group.timing.busbw = 0;
    const struct result result = {.choice = choice,
                                  .asked = asked,
                                  .count = prediction->count,
                                  .bytes = prediction->bytes,
                                  .root = job->root,
                                  .channels = job->channels,
                                  .is_predicted = true,
                                  .groups = &group,
                                  .group_count = 1,
                                  .transport = "model",
                                  .way = "model",
                                  .timing = group.timing,
                                  .late_rank = -1,
                                  .ranks = absent->ranks};
    report->result(report, job, &result);
}

static enum status lines_predict(const struct job *job, const struct model *model,
                                 const struct absent_ranks *absent, struct report *report)
{
    const struct rank_group all = split_group(&absent->split, 0);
    enum status status = STATUS_OK;
    for (int first = 0, end; first < job->candidate_count && status == STATUS_OK; first = end) {
        end = job_contest_end(job, first);
        const struct candidate *longest = &job->candidates[first];
        for (size_t bytes = job_first_size(job, longest); bytes > 0 && status == STATUS_OK;
             bytes = job_next_size(job, longest, bytes))
            for (int c = first; c < end && status == STATUS_OK; c++) {
                struct prediction prediction;
                if (!candidate_runs_at(&job->candidates[c], bytes))
                    continue;
                status = prediction_make(job, &job->candidates[c], bytes, &all, absent->node, model,
                                         &prediction);
                if (status == STATUS_OK) {
                    result_report(report, job, c, bytes, absent, &prediction);
                    simulated_free(&prediction.simulated);
                }
            }
    }
    return status;
}

enum status predict_command(const struct command_line *line, struct job *job)
{
    struct absent_ranks absent = {0};
    struct printers printers;
    (void)line;
    enum status status = absent_ranks_make(job, &absent);
    if (status == STATUS_OK)
        status = job_check_ranks(job, absent.ranks, &absent.split);
    if (status != STATUS_OK) {
        absent_ranks_free(&absent);
        return status;
    }
    signal(SIGPIPE, SIG_IGN);
    status = printers_open(&printers, job, PRINT_TABLE, true);
    if (status == STATUS_OK) {
        const struct model *model = printers.predictor.model;
        const struct participants participants = {.ranks = absent.ranks,
                                                  .members = absent.members,
                                                  .split = &absent.split,
                                                  .bootstrap = "none",
                                                  .model = model};
        const struct job_end end = {.rejected = -1};
        printers.report.begin(&printers.report, job, &participants);
        status = lines_predict(job, model, &absent, &printers.report);
        printers.report.end(&printers.report, job, &end);
        status = printers_finish(&printers, true, status);
    } else {
        printers_close(&printers);
    }
    absent_ranks_free(&absent);
    return status;
}
