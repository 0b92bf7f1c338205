/*
 * session.c - one rank's run of a job.
 *
 * Every rank goes through the same stages at the same time: join; set up (setup.c); for each size
 * and algorithm warm up, check, time, and send the result to rank 0 (sweep.c); end.
 */
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "session/setup.h"
#include "session/sweep.h"

static void session_close(struct session *session)
{
    links_close(session->runner.links); /* first: it may hold transfers of executors */
    start_barrier_close(&session->runner.start_barrier);
    if (session->job.memory)
        session->job.memory->engine_close(session->runner.engine);
    checker_close(&session->checker);
    results_free(&session->results);
    connectivity_free(&session->connectivity);
    device_watch_close(&session->watch);
    needs_free(&session->needs);
    free(session->bindings);
    node_ranks_free(&session->runner.node);
    shape_free(session->runner.shape);
    control_close(session->control);
}

static void session_report(struct session *session, enum status status)
{
    if (!session->report)
        return;
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
    device_sums_of_class(&session->results.devices, COUNTER_SICK, &end.sick); /* best effort */
    session->report->end(session->report, &session->job, &end);
    device_readings_free(&end.sick);
}

enum status session_run(const struct membership *membership, void *argument)
{
    const struct session_arguments *arguments = argument;
    const struct job *job = arguments->job;
    struct session *session = calloc(1, sizeof *session);
    if (!session)
        return fail(STATUS_ERROR, "out of memory");
    *session = (struct session){.job = *job, .membership = membership};
    session->report = membership->rank == 0 ? arguments->report : NULL;
    struct control_config config = {.timeout = job->bootstrap.timeout,
                                    .options = arguments->options,
                                    .writing = session->report ? &session->report->writing : NULL};
    enum status status = control_join(membership, &config, &session->control);
    if (status == STATUS_OK) {
        if (membership->joined)
            membership->joined(membership->joined_argument);
        status = session_set_up(session);
        if (status == STATUS_OK)
            status = session_sweep(session);
        if (status == STATUS_OK)
            status = checker_check_injections(&session->checker);
        if (status != STATUS_OK)
            status = control_fail(session->control, status);
        else
            status =
                control_finish(session->control, results_status(&session->results, &session->job));
    }
    session_report(session, status);
    session_close(session);
    free(session);
    return status;
}
