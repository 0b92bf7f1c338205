/*
 * session.c - one rank's run of a job.
 *
 * Every rank goes through the same stages at the same time: join; set up (setup.c); for each size
 * and algorithm warm up, check, time, and send the result to rank 0 (sweep.c); close the links;
 * finish; free the memory.
 */
#include "run/session/internal.h"

#include "base/list.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * After a job has failed: what devices counted in the line that has not ended.
 */
#define READING_SECONDS    0.25 /* for the counters: the driver of a failed device may hang */
#define POSTMORTEM_SECONDS 0.3  /* that rank 0 waits for the others */

/* Waits for the ranks that use devices. */
static void postmortem_gather(struct control *control, struct device_sums *sums,
                              struct postmortem *postmortem)
{
    const struct device_table *table = sums->table;
    struct blobs blobs = {0};
    bool *from = new_array((size_t)postmortem->ranks, sizeof *from);
    for (int i = 0; i < table->use_count; i++)
        from[table->uses[i].rank] = true;
    control_gather_postmortems(control, from, POSTMORTEM_SECONDS, &blobs);
    for (int r = 1; r < blobs.count; r++) {
        struct reader reader = {.at = blobs.data[r], .left = blobs.size[r]};
        if (reader.left > 0 &&
            (!device_changes_decode(&postmortem->changes[r], &reader) || reader.left > 0))
            device_changes_free(&postmortem->changes[r]);
    }
    blobs_free(&blobs);
    free(from);
}

/* On each rank, once control_fail() has returned: reads the counters of its devices, and sends them
 * to rank 0. There it waits a moment for the others', adds them to the sums, and fills in
 * *postmortem. Best effort: ranks that have died count nothing, nor do devices whose driver hangs.
 * `classes`: the first of enum counter_class that are of interest. */
static void postmortem_make(struct control *control, struct device_watch *watch, int classes,
                            struct device_sums *sums, struct postmortem *postmortem)
{
    struct device_changes own = {0};
    struct bytes share = {0};
    bool watches = device_watch_has_devices(watch);
    device_watch_take_last(watch, READING_SECONDS, &own);
    if (control_rank(control) > 0) {
        device_changes_encode(&own, classes, &share);
        if (watches)
            control_send_postmortem(control, &share);
        bytes_free(&share);
        device_changes_free(&own);
        return;
    }
    int ranks = control_ranks(control);
    bool used = sums->table && sums->table->use_count > 0;
    *postmortem = (struct postmortem){
        .ranks = ranks, .changes = new_array((size_t)ranks, sizeof *postmortem->changes)};
    if (!used) {
        device_changes_free(&own);
        return;
    }
    postmortem->changes[0] = own;
    postmortem_gather(control, sums, postmortem);
    for (int r = 0; r < ranks; r++)
        device_sums_add(sums, r, &postmortem->changes[r], &postmortem->readings);
}

/* All zero is allowed. */
static void postmortem_free(struct postmortem *postmortem)
{
    for (int r = 0; postmortem->changes && r < postmortem->ranks; r++)
        device_changes_free(&postmortem->changes[r]);
    free(postmortem->changes);
    device_readings_free(&postmortem->readings);
    *postmortem = (struct postmortem){0};
}

/*
 * One rank's run of a job.
 */
/* Gives up the memory of peers, and the links to them. */
static void session_unlink(struct session *session)
{
    device_group_unmap(&session->runner.devices);
    links_close(session->runner.links);
    session->runner.links = NULL;
}

/* The end of a rank that has not failed. No rank closes its links while another moves data: the
 * sweep ends with a gather, which returns on each rank when all ranks have moved all of theirs. No
 * rank frees its buffers while another has its links: control_finish() returns when all ranks have
 * closed them. */
static enum status session_finish(struct session *session)
{
    control_enter(session->control, PHASE_END);
    control_watch(session->control, NULL, NULL);
    if (device_group_stop(&session->runner.devices)) /* else a GPU that hangs may use them */
        session_unlink(session);
    return control_finish(session->control, results_status(&session->results, &session->job));
}

/* Fails if messages were dropped, and no result is wrong. Each rank has found its faults by then:
 * one that has not fails before this exchange, and its reason is the job's. */
static enum status session_check_drops(struct session *session)
{
    const struct job *job = &session->job;
    struct bytes none = {0};
    struct blobs blobs = {0};
    if (!injections_drop(job->injections, job->injection_count))
        return STATUS_OK;
    enum status status =
        control_exchange(session->control, EXCHANGE_GATHER, &none, "injected fault", &blobs);
    blobs_free(&blobs);
    if (status == STATUS_OK && session->report && session->results.wrong == 0)
        return fail_option(
            STATUS_ERROR, "inject",
            "--inject: a message was dropped, and no result is wrong: other messages bring "
            "the same data, or the inputs of that iteration do not show it; choose "
            "another rank or iteration");
    return status;
}

/* After a bad end, other ranks may be in the middle of a message: a transport may still map, read
 * or write the regions, also in another thread of this process, or from another host. So the
 * regions stay until the process ends. It ends soon, as does one whose ranks are threads, when they
 * all have returned. */
static void session_keep_regions(struct session *session)
{
    session->runner.start_barrier.region = (struct region){.fd = -1};
    staging_area_forget(&session->runner.staging);
    session->checker.set_count = 0;
}

/* `whole`: all ranks have closed their links, and no device works any more. */
static void session_close(struct session *session, bool whole)
{
    bool rests = device_group_stop(&session->runner.devices);
    run_watch_stop(&session->runner.run_watch);
    wait_meter_close(&session->runner.wait_meter);
    if (session->runner.vendor) /* it aborts what still runs */
        session->runner.vendor->close(session->runner.vendor_session);
    if (session->watch.state != WATCH_LOST && rests) /* else a driver or a GPU may use them */
        session_unlink(session);                     /* first: it may hold transfers of executors */
    if (!whole)
        session_keep_regions(session);
    start_barrier_close(&session->runner.start_barrier);
    staging_area_close(&session->runner.staging);
    device_group_close(&session->runner.devices, whole);
    if (whole)
        memory_close(&session->runner.memory);
    else
        memory_forget(&session->runner.memory);
    checker_close(&session->checker);
    postmortem_free(&session->postmortem);
    results_free(&session->results);
    connectivity_free(&session->connectivity);
    device_watch_close(&session->watch);
    needs_free(&session->needs);
    free(session->bindings);
    free(session->devices);
    node_ranks_free(&session->runner.node);
    split_free(&session->runner.split);
    free(session->job.candidates);
    control_close(session->control);
}

static enum status session_report(struct session *session, enum status status)
{
    if (!session->report)
        return status;
    const struct job_error *errors = NULL;
    int count = session->control ? control_errors(session->control, &errors) : 0;
    results_add_errors(&session->results, errors, count);
    struct job_end end = {.status = status,
                          .errors = session->results.errors,
                          .error_count = session->results.error_count,
                          .rejected = (long long)session->connectivity.rejected};
    if (session->control)
        end.rejected += (long long)control_rejected(session->control);
    if (end.rejected > 0)
        say_verbose(1, "rejected %lld connections that did not belong to this job", end.rejected);
    end.unfinished = session->postmortem.readings;
    device_sums_of_class(&session->results.devices, COUNTER_FAULTY, &end.faults); /* best effort */
    session->report->end(session->report, &session->job, &end);
    device_readings_free(&end.faults);
    return session->membership->started_here ? status
                                             : session->report->conclude(session->report, status);
}

static void session_say_protection(const struct session *session)
{
    const struct member *members = control_members(session->control);
    bool one_host = true;
    for (int r = 1; r < session->membership->ranks; r++)
        one_host &= members[r].node == members[0].node;
    if (session->membership->rank == 0)
        membership_say_protection(session->membership, one_host);
}

static void session_running(void *argument, const struct progress_snapshot *now)
{
    struct report *report = argument;
    if (report->running)
        report->running(report, now);
}

/* A helper ends the process in the place of a main thread that hangs. */
static enum status session_conclude(void *argument, enum status status)
{
    struct report *report = argument;
    status = report->conclude(report, status);
    report->drain(report, STATUS_ERROR);
    return status;
}

/* Is the status of the job written by this process, if need be by the helper of any of its ranks?
 * Of ranks that are processes of a parent, it is written by that. */
static bool session_concludes(const struct membership *membership, const struct report *report)
{
    return report && report->conclude &&
           (!membership->own_process || (membership->rank == 0 && !membership->started_here));
}

/* Sets up, runs all lines, and judges what can be judged only then. */
static enum status session_measure(struct session *session)
{
    TRY(session_set_up(session));
    TRY(session_sweep(session));
    TRY(checker_check_injections(&session->checker));
    TRY(session_check_drops(session));
    return report_check_whole(session->report, &session->runner.tick);
}

enum status session_run(const struct membership *membership, void *argument)
{
    const struct session_arguments *arguments = argument;
    const struct job *job = arguments->job;
    struct session *session = new_array(1, sizeof *session);
    job_copy(job, &session->job);
    session->membership = membership;
    session->report = membership->rank == 0 ? arguments->report : NULL;
    struct control_config config = {.timeout = job->bootstrap.timeout,
                                    .options = arguments->options,
                                    .refusal = arguments->refusal,
                                    .running = session->report ? session_running : NULL,
                                    .running_argument = session->report,
                                    .conclude_argument = arguments->report};
    if (session_concludes(membership, arguments->report))
        config.conclude = session_conclude;
    bool whole = false;
    enum status status = control_join(membership, &config, &session->control);
    if (status == STATUS_OK) {
        if (membership->joined)
            membership->joined(membership->joined_argument);
        session_say_protection(session);
        status = session_measure(session);
        if (status == STATUS_OK) {
            status = session_finish(session);
            whole = status_is_whole(status) && device_group_stop(&session->runner.devices);
        } else {
            status = control_fail(session->control, status);
            postmortem_make(session->control, &session->watch,
                            session->job.watches ? COUNTER_CLASSES : COUNTER_FAULTY + 1,
                            &session->results.devices, &session->postmortem);
        }
    }
    status = session_report(session, status);
    struct report *report = session->report;
    session_close(session, whole);
    free(session);
    if (report && report->drain)
        report->drain(report, status);
    return status;
}
