/*
 * session.h - one rank's run of a job: join, set up, sweep sizes and algorithms, check, time,
 * report.
 */
#ifndef CCTEST_RUN_SESSION_SESSION_H
#define CCTEST_RUN_SESSION_SESSION_H

#include "controlplane/control/control.h"
#include "run/results/results.h"

struct session_arguments {
    const struct job *job;
    const char *options;   /* text of the options that all ranks must agree on */
    struct report *report; /* only rank 0 uses it */
    /* Rank 0: why it only comes to refuse the job, which it has said; `report` is NULL then. NULL:
     * it does not. */
    const struct failure *refusal;
};

/* Runs a job as the rank that `membership` names; a rank_main with a struct session_arguments * as
 * argument. Returns the job's status. */
enum status session_run(const struct membership *membership, void *arguments);

#endif
