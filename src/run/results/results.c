/*
 * results.c - from all ranks' results to a line of the table, and to sentences about what is wrong.
 *
 * The time of an iteration of a group is that of its slowest rank, or half of it where an iteration
 * goes there and back. Percentiles are taken over iterations. A line shows the slowest group.
 */
#include "run/results/internal.h"

#include "base/list.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/signals.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Does anything take the results, and did it take all of them?
 *
 * The ranks may be started by one launcher each, and only rank 0 writes results. So its failure to
 * write them is a failure of the job, which all ranks learn before their end.
 */
#define QUEUED_MOST ((size_t)64 << 20) /* bytes that may wait for readers while the job goes on */
#define LOOK_NS     20000000           /* between two looks at them */

static enum status report_check(struct report *report, bool whole, const struct tick *tick)
{
    if (!report || !report->failure)
        return STATUS_OK;
    while (report->queued(report) > (whole ? 0 : QUEUED_MOST) && tick_on(tick) &&
           !signals_pending())
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    const char *why = report->failure(report, whole);
    return why ? fail(STATUS_ERROR, "%s", why) : STATUS_OK;
}

enum status report_check_whole(struct report *report, const struct tick *tick)
{
    return report_check(report, true, tick);
}

enum status report_check_read(struct report *report, const struct tick *tick)
{
    return report_check(report, false, tick);
}

/*
 * From all ranks' results to a line of the table.
 */
/* The traffic of all ranks by transport, and the names of the transports that carried the line. */
static void result_traffic(struct result *result, const struct rank_summaries *summaries)
{
    int names = 0;
    bool used[TRANSPORTS_MOST] = {false};
    for (int r = 0; r < summaries->count; r++) {
        const struct rank_summary *summary = &summaries->items[r];
        for (int i = 0; i < summary->transports; i++) {
            const struct transport_use *use = &summary->transport[i];
            int at = 0;
            while (at < names && result->transport_names[at] != use->transport->name)
                at++;
            if (at == TRANSPORTS_MOST)
                continue;
            if (at == names)
                result->transport_names[names++] = use->transport->name;
            traffic_add(&result->by_transport[at], &use->traffic, +1);
            used[at] |= use->used;
        }
    }
    struct text name = text_in(result->transport, sizeof result->transport);
    for (int i = 0; i < names; i++)
        if (used[i])
            text_add(&name, "%s%s", name.used ? "+" : "", result->transport_names[i]);
    if (!name.used)
        text_add(&name, "self");
}

/* The executor that ran the line, and the engine that moved its bytes. */
static void result_way(struct result *result, const struct line *line)
{
    const char *vendor = line->job->candidates[result->choice].choice.algorithm->vendor;
    bool stages = false, direct = false;
    for (int r = 0; r < line->summaries->count; r++) {
        stages |= line->summaries->items[r].stages;
        direct |= line->summaries->items[r].direct;
    }
    result->on_device = line->mine->engine->on_device;
    memcpy(result->why_host, line->mine->engine->why_host, sizeof result->why_host);
    snprintf(result->engine, sizeof result->engine, "%s",
             vendor                          ? vendor
             : result->on_device             ? "sm"
             : line->job->memory->host_reads ? "cpu"
             : stages && direct              ? "ce+staged"
             : stages                        ? "staged"
                                             : "ce");
}

/* *duration: p50 of an iteration of the slowest group, there and back; ns. */
static void result_late(struct result *result, const struct line *line, uint64_t *duration)
{
    const struct rank_summaries *summaries = line->summaries;
    uint64_t *late = new_array((size_t)summaries->count, sizeof *late);
    for (int r = 0; r < summaries->count; r++)
        late[r] = summaries->items[r].late;
    *duration = (uint64_t)(result->timing.time_us.p50 * 1000) * line_trips(line);
    result->late_rank = statistics_late_rank(late, summaries->count, *duration);
    result->late_us = result->late_rank < 0 ? 0 : (double)late[result->late_rank] / 1000;
    free(late);
}

/* All timed iterations of the slowest group together, ns. */
static uint64_t result_time(const struct result *result, const struct line *line)
{
    double mean = result->timing.time_us.mean * 1e3 * (double)line_trips(line);
    return (uint64_t)(mean * (double)result->iterations);
}

/* The outliers of the slowest group. */
static void result_outliers(struct result *result, const struct line *line)
{
    size_t count = line->slowest->count;
    uint64_t *durations = malloc((count + 1) * sizeof *durations);
    if (!durations)
        return;
    slowest_copy(line->slowest, line->slowest->duration, result->slowest_group, 1, durations);
    const struct rank_group group = split_group(line->split, result->slowest_group);
    const struct outlier_case given = {.durations = durations,
                                       .count = count,
                                       .summaries = line->summaries,
                                       .members = line->members,
                                       .group = &group,
                                       .tick = line->tick};
    outliers_find(&given, result);
    free(durations);
}

/* Each rank's time by activity, if it was asked for and iterations were timed. */
static void result_profile(struct result *result, const struct job *job,
                           const struct rank_summaries *summaries)
{
    if (!job->profile || result->iterations == 0)
        return;
    struct rank_profile *profile = new_array((size_t)summaries->count, sizeof *profile);
    for (int r = 0; r < summaries->count; r++) {
        const struct rank_summary *summary = &summaries->items[r];
        for (int a = 0; a < ACTIVITIES; a++)
            profile[r].share[a] = summary->shares[a] / (double)result->iterations;
        profile[r].time_us = summary->duration;
    }
    result->profile = profile;
}

/* When the last rank has ended each step. */
static void result_steps(struct result *result, const struct line *line)
{
    const struct rank_summaries *summaries = line->summaries;
    for (int r = 0; r < summaries->count; r++)
        if (summaries->items[r].steps > result->steps)
            result->steps = summaries->items[r].steps;
    if (result->steps == 0)
        return;
    result->step_end = new_array((size_t)result->steps, sizeof *result->step_end);
    for (int r = 0; r < summaries->count; r++) {
        for (int s = 0; s < summaries->items[r].steps; s++) {
            double end = summaries->items[r].step[s] / (double)line_trips(line);
            if (end > result->step_end[s].measured_us)
                result->step_end[s].measured_us = end;
        }
    }
}

void results_open(struct results *results, const struct device_table *table,
                  const struct tick *tick)
{
    results->tick = tick;
    device_sums_open(&results->devices, table);
}

/* Frees what results hold for their report only: it is as large as all ranks and their peers. */
static void result_reported(struct result *result)
{
    bottleneck_report_free(result);
    for (int f = 0; f < result->fault_count; f++)
        free(result->faults[f].ranks);
    free(result->faults);
    result->faults = NULL;
    result->fault_count = 0;
    device_readings_free(&result->devices);
}

static enum status results_add_summaries(struct results *results, const struct line *line,
                                         struct report *report)
{
    const struct job *job = line->job;
    const struct rank_result *mine = line->mine;
    const struct candidate *candidate = &job->candidates[mine->choice];
    const struct rank_summaries *summaries = line->summaries;
    struct result *result = LIST_ADD(results->results, results->result_count);
    *result = (struct result){
        .choice = mine->choice,
        .asked = mine->bytes,
        .count = mine->problem.count,
        .channels = mine->channels,
        .bytes = collective_bytes(&mine->problem, candidate->datatype->size),
        .root = job->root,
        .iterations = mine->iterations,
        .end = line->slowest->end,
        .checked = mine->checked,
        .late_rank = -1,
        .ranks = summaries->count,
    };
    result_traffic(result, summaries);
    result_way(result, line);
    const char *vendor = candidate->choice.algorithm->vendor;
    if (vendor) /* it brings links of its own */
        snprintf(result->transport, sizeof result->transport, "%s", vendor);
    uint64_t duration = 0;
    enum status status = group_results_make(result, line);
    results->wrong += result->wrong;
    TRY(status);
    result_late(result, line, &duration);
    if (job->watches && result->iterations > 0) {
        bottleneck_report(result, line->members, summaries, duration, result_time(result, line));
        result_find_losses(line->members, result);
        result_find_delays(line->members, result);
        result_outliers(result, line);
    }
    result_profile(result, job, summaries);
    result_steps(result, line);
    for (int r = 0; r < summaries->count; r++)
        device_sums_add(&results->devices, r, &summaries->items[r].changes, &result->devices);
    if (result->wrong)
        faults_report(line, results, result);
    if (report->predictor)
        report->predictor->result(report->predictor, job, result);
    report->result(report, job, result);
    result_reported(result);
    return STATUS_OK;
}

enum status results_add_line(struct results *results, const struct rank_result *mine,
                             const struct job *job, const struct split *split,
                             const struct member *members, const struct blobs *blobs,
                             struct slowest *slowest, struct report *report)
{
    struct rank_summaries summaries;
    enum status status = rank_summaries_decode(blobs, shape_size(split->groups, 0), &summaries);
    const struct line line = {.job = job,
                              .mine = mine,
                              .split = split,
                              .members = members,
                              .summaries = &summaries,
                              .slowest = slowest,
                              .tick = results->tick};
    if (status == STATUS_OK)
        status = results_add_summaries(results, &line, report);
    rank_summaries_free(&summaries);
    return status;
}

void results_add_errors(struct results *results, const struct job_error *errors, int count)
{
    for (int i = 0; i < count; i++)
        *LIST_ADD(results->errors, results->error_count) = errors[i];
}

/* The best right one of the largest size among results [0, count), which compete. */
static struct result result_best(const struct result *results, int count)
{
    struct result best = results[count - 1];
    best.timing.busbw = 0;
    for (int i = 0; i < count; i++) {
        bool larger = results[i].bytes > best.bytes, right = results[i].wrong == 0;
        if (larger || (results[i].bytes == best.bytes && right &&
                       results[i].timing.busbw > best.timing.busbw)) {
            best = results[i];
            best.timing.busbw = right ? best.timing.busbw : 0;
        }
    }
    return best;
}

bool results_fast_enough(const struct job *job, const struct result *results, int count,
                         struct result *slowest)
{
    *slowest = (struct result){.choice = 0};
    for (int first = 0, end, found = 0; first < count; first = end) {
        const struct candidate *candidate = &job->candidates[results[first].choice];
        for (end = first + 1; end < count; end++)
            if (!candidates_compete(candidate, &job->candidates[results[end].choice]))
                break;
        if (!candidate->collective->sized)
            continue;
        struct result best = result_best(&results[first], end - first);
        if (!found++ || best.timing.busbw < slowest->timing.busbw)
            *slowest = best;
    }
    return job->min_busbw <= 0 || slowest->timing.busbw >= job->min_busbw;
}

enum status results_status(const struct results *results, const struct job *job)
{
    if (results->wrong)
        return STATUS_WRONG_DATA;
    if (results->result_count == 0)
        return STATUS_OK;
    struct result slowest = {0};
    char title[CANDIDATE_TITLE_MOST], size[SIZE_TEXT_MOST];
    const char *name = slowest.slowest_name;
    if (results_fast_enough(job, results->results, results->result_count, &slowest))
        return STATUS_OK;
    candidate_title(job, &job->candidates[slowest.choice], title);
    size_format(slowest.bytes, size);
    if (slowest.timing.busbw > 0)
        say("%s at %s, the largest size: the best busbw is %.3f GB/s%s%s, less than the %g GB/s "
            "that --min-busbw asks for",
            title, size, slowest.timing.busbw, name[0] ? " in " : "", name, job->min_busbw);
    else
        say("%s at %s, the largest size: there is no busbw, since no rank sent data, so the %g "
            "GB/s "
            "that --min-busbw asks for are not reached",
            title, size, job->min_busbw);
    return STATUS_SLOW;
}

void results_free(struct results *results)
{
    for (int i = 0; i < results->result_count; i++) {
        result_reported(&results->results[i]); /* of a line that failed */
        free(results->results[i].profile);
        free(results->results[i].groups);
        free(results->results[i].step_end);
    }
    free(results->results);
    free(results->errors);
    device_sums_close(&results->devices);
}
