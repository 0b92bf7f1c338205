/*
 * failed_jobs.h - why the jobs of a stage failed: how often each reason was given.
 *
 * Reasons that differ in their numbers alone (ranks, hosts, seconds) are one.
 */
#ifndef CCTEST_ACCEPT_FAILED_JOBS_H
#define CCTEST_ACCEPT_FAILED_JOBS_H

#include <jansson.h>

#include "base/text.h"

struct failed_jobs {
    int count;
    json_t
        *reasons; /* by the reason without numbers: how often, and its first sentence; NULL: none */
};

/* Another job failed, for this reason; "" counts as unknown. Without memory for a reason it is
 * counted, and no more. */
void failed_jobs_add(struct failed_jobs *jobs, const char *why);
/* Adds how many failed, and the most frequent reason, the first of equals: "7 jobs failed, 5 of them:
 * the worker on n3 was killed by SIGKILL". */
void failed_jobs_put(const struct failed_jobs *jobs, struct text *text);
void failed_jobs_free(struct failed_jobs *jobs);

#endif
