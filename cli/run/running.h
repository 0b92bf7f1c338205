/*
 * running.h - one line on a terminal that says what runs now, below the table: for lines of the
 * table that take long. It vanishes when something else is printed.
 */
#ifndef CCTEST_CLI_RUN_RUNNING_H
#define CCTEST_CLI_RUN_RUNNING_H

#include <pthread.h>

#include "base/io/output.h"
#include "base/rank_state.h"

struct running {
    pthread_mutex_t lock;
    const struct job *job;        /* NULL: nothing is shown */
    int ranks;                    /* of the job */
    const char *_Atomic *writing; /* likewise while this is not NULL */
    bool on_terminal;
    struct outcome *outcome;
    struct progress_snapshot
        line;     /* as it was when the present line of the table was first seen, */
    double since; /* at that time, */
    double due;   /* and when to show more of it */
};

void running_open(struct running *running, const char *_Atomic *writing, struct outcome *outcome);
/* These ranks work for this job from now on; NULL: they no longer do. */
void running_set_job(struct running *running, const struct job *job, int ranks);
/* By any thread: what rank 0 does now. Shows it if that has taken a while. */
void running_show(struct running *running, const struct progress_snapshot *now);
/* Before anything else is printed, once `writing` says what. */
void running_hide(struct running *running);

#endif
