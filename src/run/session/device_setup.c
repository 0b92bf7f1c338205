/*
 * device_setup.c - whether the devices of the ranks run their schedules.
 */
#include "run/session/internal.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "dataplane/execute/execute.h"

/* The transport that is allowed, and whose messages devices move; NULL: there is none. */
static const char *job_maps(const struct job *job)
{
    const char *name = NULL;
    for (int i = 0; job->transports[i].transport && !name; i++)
        if (job->transports[i].transport->maps)
            name = job->transports[i].transport->name;
    return name;
}

static struct device_group_config session_group_config(const struct session *session)
{
    const struct job *job = &session->job;
    const struct runner *runner = &session->runner;
    return (struct device_group_config){
        .memory = job->memory,
        .device = &session->device,
        .devices = session->devices,
        .rank = runner->rank,
        .ranks = runner->ranks,
        .members = control_members(session->control),
        .transport = job_maps(job),
        .channels = session->needs.device_channels,
        .fits_channels = job->channels == CHANNELS_AUTO,
        .lanes = session->needs.device_lanes,
        .copy = job->copy,
        .protocol = job->protocol,
        .chunk = job->chunk,
        .slots = job->slots,
        .slot_bytes = job->slot_bytes,
        .drops = injections_drop(job->injections, job->injection_count),
        .replays = job->graph,
        .tick = &runner->tick,
    };
}

size_t session_wire_bytes(const struct session *session)
{
    const struct device_group_config config = session_group_config(session);
    bool asks = job_considers_devices(&session->job) && job_maps(&session->job);
    return asks ? device_group_wire_bytes(&config) : 0;
}

enum status session_open_devices(struct session *session, bool has_room)
{
    static const char maps_none[] =
        "no transport of -x maps the memory of other ranks: add cuda to -x";
    struct device_group_config config = session_group_config(session);
    struct device_group *devices = &session->runner.devices;
    config.has_room = has_room;
    if (!job_considers_devices(&session->job))
        return STATUS_OK;
    if (job_maps(&session->job))
        return device_group_open(&config, devices);
    if (session->job.executor == EXECUTOR_DEVICE)
        return fail_option(STATUS_USAGE, "executor", "--executor device cannot be had: %s",
                           maps_none);
    snprintf(devices->refusal, sizeof devices->refusal, "%s", maps_none);
    return STATUS_OK;
}

static bool devices_decode(void *devices, int rank, struct reader *reader)
{
    return device_group_decode(devices, rank, reader);
}

/* Fails if the user insists on devices that run no line. */
static enum status session_insist(const struct session *session)
{
    const struct device_group *devices = &session->runner.devices;
    if (session->job.executor != EXECUTOR_DEVICE || !devices->refusal[0])
        return STATUS_OK;
    return fail_option(devices->refused_by_use ? STATUS_USAGE : STATUS_UNAVAILABLE, "executor",
                       "--executor device cannot be had here: %s", devices->refusal);
}

enum status session_settle_devices(struct session *session)
{
    struct device_group *devices = &session->runner.devices;
    const struct checker *checker = &session->checker;
    struct device_set sets[BUFFER_SETS_MOST];
    struct bytes share = {0};
    if (!devices->offers)
        return STATUS_OK;
    if (devices->refusal[0])
        return session_insist(session);
    for (int s = 0; s < checker->set_count; s++) {
        sets[s].region = &checker->sets[s].region;
        for (int b = 0; b < BUFFERS; b++)
            sets[s].base[b] = checker->sets[s].base[b];
    }
    enum status status = device_group_encode(devices, sets, checker->set_count, &share);
    if (status != STATUS_OK) {
        bytes_free(&share);
        return status;
    }
    TRY(exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "device", devices_decode,
                        devices));
    device_group_settle(devices);
    return session_insist(session);
}

/* The trial. */

#define BEGIN_NS 1000000000u /* in which the kernels of all ranks have to begin */

/* Finds the first rank whose kernel has not begun. */
static bool trial_decode(void *argument, int rank, struct reader *reader)
{
    int *late = argument;
    uint32_t begun = read_u32(reader);
    if (!begun && *late < 0)
        *late = rank;
    return begun <= 1;
}

/* Begins a run. *begun: all of its blocks have, in time. */
static enum status trial_begin(struct session *session, struct execution *execution, bool *begun)
{
    struct runner *runner = &session->runner;
    uint64_t released;
    TRY(runner_synchronize(runner, &released));
    TRY(execution->hooks->start(execution));
    uint64_t until = clock_ns() + BEGIN_NS;
    bool moved, complete;
    *begun = false;
    while (!*begun && clock_ns() < until) {
        TRY(execution->hooks->progress(execution, &moved, &complete));
        *begun = device_executor_has_begun(execution);
        sched_yield();
        if (!tick_on(&runner->tick))
            return STATUS_ERROR;
    }
    return STATUS_OK;
}

/* No device runs anything from now on. */
static enum status trial_give_up(struct session *session, int late, struct test_case *test_case)
{
    struct device_group *devices = &session->runner.devices;
    device_group_stop(devices);
    devices->is_abandoned = true;
    struct text why = text_in(devices->refusal, sizeof devices->refusal);
    text_add(&why,
             "the kernel of rank %d had not begun after 1 s, while those of other ranks waited for "
             "it: its GPU does not run them at the same time",
             late);
    if (devices->tried > 0)
        text_add(&why, " with %d channels, as it did with %d: give --channels %d",
                 test_case->channels, devices->tried, devices->tried);
    if (session->job.executor == EXECUTOR_DEVICE)
        return fail_option(STATUS_UNAVAILABLE, "executor",
                           "--executor device cannot be had here: %s", devices->refusal);
    test_case_unready(test_case);
    test_case->engine.on_device = false;
    memcpy(test_case->engine.why_host, devices->refusal, sizeof devices->refusal);
    return test_case_ready(&session->runner, session->checker.sets, test_case);
}

enum status session_try_devices(struct session *session, struct test_case *test_case)
{
    struct execution *execution = test_case_execution(test_case, 0, 0);
    int late = -1;
    struct bytes share = {0};
    bool begun;
    TRY(trial_begin(session, execution, &begun));
    bytes_put_u32(&share, begun);
    TRY(exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "device", trial_decode,
                        &late));
    if (late >= 0)
        return trial_give_up(session, late, test_case);
    session->runner.devices.tried = test_case->channels;
    return runner_complete(&session->runner, execution);
}
