/*
 * vendor_setup.c - joins the ranks by a vendor's library, if the job runs one.
 */
#include "session/vendor_setup.h"

enum status session_open_vendor(struct session *session)
{
    const struct job *job = &session->job;
    struct runner *runner = &session->runner;
    const struct vendor_task task = {.collective = job->collective,
                                     .datatype = job->datatype,
                                     .reduction = job->reduction,
                                     .ranks = runner->ranks,
                                     .in_place = job->in_place};
    runner->vendor = job_vendor(job);
    if (!runner->vendor)
        return STATUS_OK;
    return runner->vendor->open(session->control, &task, &runner->tick, &runner->vendor_session);
}

void session_close_vendor(struct session *session)
{
    struct runner *runner = &session->runner;
    if (runner->vendor)
        runner->vendor->close(runner->vendor_session);
    runner->vendor_session = NULL;
}
