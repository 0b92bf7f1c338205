/*
 * vendor_setup.c - joins the ranks by a vendor's library, if the job runs one.
 */
#include "run/session/internal.h"

#include <stdlib.h>

#include "base/log.h"

/* What the candidates of the job ask of their vendor. Returns how many tasks they are. */
static int job_tasks(const struct job *job, int ranks, struct vendor_task *tasks)
{
    int count = 0;
    for (int i = 0; i < job->candidate_count; i++) {
        const struct candidate *candidate = &job->candidates[i];
        if (candidate->choice.algorithm->vendor)
            tasks[count++] = (struct vendor_task){.collective = candidate->collective,
                                                  .datatype = candidate->datatype,
                                                  .reduction = candidate->reduction,
                                                  .ranks = ranks,
                                                  .in_place = job->in_place};
    }
    return count;
}

enum status session_open_vendor(struct session *session)
{
    const struct job *job = &session->job;
    struct runner *runner = &session->runner;
    runner->vendor = job_vendor(job);
    if (!runner->vendor)
        return STATUS_OK;
    struct vendor_task *tasks = calloc((size_t)job->candidate_count, sizeof *tasks);
    if (!tasks)
        return fail(STATUS_ERROR, "out of memory for %d algorithms", job->candidate_count);
    int count = job_tasks(job, runner->ranks, tasks);
    enum status status = runner->vendor->open(session->control, tasks, count, &runner->tick,
                                              &runner->vendor_session);
    free(tasks);
    return status;
}

void session_close_vendor(struct session *session)
{
    struct runner *runner = &session->runner;
    if (runner->vendor)
        runner->vendor->close(runner->vendor_session);
    runner->vendor_session = NULL;
}
