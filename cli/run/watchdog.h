/*
 * watchdog.h - ends the process where a file does not take its last write: no helper thread of a
 * rank is left then.
 */
#ifndef CCTEST_CLI_RUN_WATCHDOG_H
#define CCTEST_CLI_RUN_WATCHDOG_H

#include <pthread.h>

#include "run/results/report.h"

struct watchdog {
    pthread_t thread;
    pid_t watched; /* the thread that writes */
    int over;      /* eventfd; -1: no thread watches */
    struct report *report;
    const _Atomic int *said; /* the status that JSON or the table says; negative: none yet */
    enum status status;      /* of the job, so far */
};

/* Watches the calling thread. The process ends when one write has taken FILE_SECONDS, a wait for a
 * reader not counted, with `said`, or else with `status` and an error. What is given here stays
 * until watchdog_stop(). Without memory for a thread nothing is watched. */
void watchdog_start(struct watchdog *watchdog, struct report *report, const _Atomic int *said,
                    enum status status);
void watchdog_stop(struct watchdog *watchdog);

#endif
