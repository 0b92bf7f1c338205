/*
 * survey.c - what all test cases of a job will need on this rank.
 */
#include "session/survey.h"

#include <stdlib.h>

#include "base/log.h"
#include "run/channel_count.h"
#include "run/test_case.h"

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
static enum status survey_test_case(const struct runner *runner, const struct choice *choice,
                                    size_t bytes, int channels, struct needs *needs, int *most)
{
    const struct job *job = runner->job;
    struct test_case test_case;
    enum status status = test_case_outline(runner, choice, bytes, channels, &test_case);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < test_case.schedule_count; i++) {
        needs_add(needs, test_case.schedules[i], job->datatype->size);
        if (channels == channel_count_host(job))
            needs_add_links(needs, test_case.schedules[i]);
        if (job_drops(job, runner->rank))
            needs_add_dropped(needs, test_case.schedules[i], job->datatype->size);
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
static enum status survey_choice(const struct runner *runner, const struct choice *choice,
                                 size_t bytes, struct needs *needs)
{
    int channels = channel_count_host(runner->job), most;
    enum status status;
    do {
        status = survey_test_case(runner, choice, bytes, channels, needs, &most);
        channels *= 2;
        tick_on(&runner->tick);
    } while (status == STATUS_OK && channels <= most);
    return status;
}

static enum status survey_size(const struct runner *runner, size_t bytes, struct needs *needs)
{
    const struct job *job = runner->job;
    enum status status = STATUS_OK;
    for (int c = 0; c < job->candidate_count && status == STATUS_OK; c++) {
        if (job_runs_at(job, c, bytes))
            status = survey_choice(runner, &job->candidates[c].choice, bytes, needs);
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
    size_t bytes = runner->job->smallest, next = 1;
    for (; next != 0 && status == STATUS_OK; bytes = next) {
        status = survey_size(runner, bytes, needs);
        next = job_next_size(runner->job, bytes);
    }
    return status;
}

void needs_free(struct needs *needs)
{
    free(needs->peers);
    *needs = (struct needs){0};
}
