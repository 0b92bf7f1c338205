/*
 * survey.c - what all test cases of a job will need on this rank.
 */
#include "run/session/internal.h"

#include <stdlib.h>

#include "base/log.h"
#include "run/run.h"

static void needs_add(struct needs *needs, const struct schedule *schedule, size_t element)
{
    size_t bytes[BUFFERS];
    schedule_bytes(schedule, element, bytes);
    for (int b = 0; b < BUFFERS; b++)
        needs->bytes[b] = bytes[b] > needs->bytes[b] ? bytes[b] : needs->bytes[b];
    int lanes = (schedule->lanes + schedule->channels - 1) / schedule->channels;
    if (lanes > needs->device_lanes)
        needs->device_lanes = lanes;
    if (schedule->channels > needs->device_channels)
        needs->device_channels = schedule->channels;
}

/* What it needs of links. Devices have wires of their own. */
static void needs_add_links(struct needs *needs, const struct schedule *schedule)
{
    schedule_add_peers(schedule, 1, needs->peers);
    if (schedule->lanes > needs->lanes)
        needs->lanes = schedule->lanes;
}

static void needs_add_dropped(struct needs *needs, const struct schedule *schedule, size_t element)
{
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        size_t bytes = operation->length * element;
        if ((operation->kind == OPERATION_RECV || operation->kind == OPERATION_RECV_REDUCE) &&
            bytes > needs->dropped)
            needs->dropped = bytes;
    }
}

/* *most: the channels that the test case has if devices run it and hold all that it asks for. */
static enum status survey_test_case(const struct runner *runner, const struct candidate *candidate,
                                    size_t bytes, int channels, struct needs *needs, int *most)
{
    const struct job *job = runner->job;
    struct test_case test_case;
    enum status status = test_case_outline(runner, candidate, bytes, channels, &test_case);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < test_case.schedule_count; i++) {
        needs_add(needs, test_case.schedules[i], candidate->datatype->size);
        if (channels == channel_count_host(job))
            needs_add_links(needs, test_case.schedules[i]);
        if (job_drops(job, runner->rank))
            needs_add_dropped(needs, test_case.schedules[i], candidate->datatype->size);
    }
    /* Wires bound them, too, by the lanes that are known so far. */
    const struct device_group_config group = {.ranks = runner->ranks,
                                              .channels = CHANNELS_MOST,
                                              .fits_channels = true,
                                              .lanes = needs->device_lanes,
                                              .slots = job->slots,
                                              .slot_bytes = job->slot_bytes};
    *most = test_case_device_channels(job, &test_case, device_group_channels_most(&group));
    test_case_close(&test_case);
    return STATUS_OK;
}

/* With each number of channels that it may get: which one is known when devices have told how many
 * blocks they hold. */
static enum status survey_channels(const struct runner *runner, const struct candidate *candidate,
                                   size_t bytes, struct needs *needs)
{
    int channels = channel_count_host(runner->job), most;
    enum status status;
    do {
        status = survey_test_case(runner, candidate, bytes, channels, needs, &most);
        channels *= 2;
        tick_on(&runner->tick);
    } while (status == STATUS_OK && channels <= most);
    return status;
}

/* At all sizes of the sweep that it runs at. */
static enum status survey_candidate(const struct runner *runner, const struct candidate *candidate,
                                    struct needs *needs)
{
    const struct job *job = runner->job;
    enum status status = STATUS_OK;
    for (size_t bytes = job_first_size(job, candidate), next = 1; next != 0 && status == STATUS_OK;
         bytes = next) {
        if (candidate_runs_at(candidate, bytes))
            status = survey_channels(runner, candidate, bytes, needs);
        next = job_next_size(job, candidate, bytes);
    }
    return status;
}

enum status survey(const struct runner *runner, struct needs *needs)
{
    *needs = (struct needs){.peers = calloc((size_t)runner->ranks, sizeof *needs->peers),
                            .lanes = 1,
                            .device_lanes = 1,
                            .device_channels = 1};
    if (!needs->peers)
        return fail(STATUS_ERROR, "out of memory for %d peers", runner->ranks);
    enum status status = STATUS_OK;
    for (int c = 0; c < runner->job->candidate_count && status == STATUS_OK; c++)
        status = survey_candidate(runner, &runner->job->candidates[c], needs);
    return status;
}

void needs_free(struct needs *needs)
{
    free(needs->peers);
    *needs = (struct needs){0};
}
