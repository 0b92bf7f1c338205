/*
 * report.c - does anything take the results, and did it take all of them?
 *
 * The ranks may be started by one launcher each, and only rank 0 writes results. So its failure to
 * write them is a failure of the job, which all ranks learn before their end.
 */
#include "run/results/results.h"

#include "base/log.h"

enum status report_check_whole(struct report *report)
{
    const char *why = report && report->unwritten ? report->unwritten(report) : NULL;
    return why ? fail(STATUS_ERROR, "%s", why) : STATUS_OK;
}

enum status report_check_read(struct report *report)
{
    return report && atomic_load(&report->unread) ? report_check_whole(report) : STATUS_OK;
}
