/*
 * postmortem.h - after a job has failed: what devices counted in the line that has not ended.
 */
#ifndef CCTEST_RUN_SESSION_POSTMORTEM_H
#define CCTEST_RUN_SESSION_POSTMORTEM_H

#include "controlplane/control/control.h"
#include "run/results/results.h"

struct postmortem {
    int ranks;
    struct device_changes *changes;  /* by rank */
    struct device_readings readings; /* which point into them */
};

/* On each rank, once control_fail() has returned: reads the counters of its devices, and sends them
 * to rank 0. There it waits a moment for the others', adds them to the sums, and fills in
 * *postmortem. Best effort: ranks that have died count nothing, nor do devices whose driver hangs.
 * `classes`: the first of enum counter_class that are of interest. */
void postmortem_make(struct control *control, struct device_watch *watch, int classes,
                     struct device_sums *sums, struct postmortem *postmortem);
void postmortem_free(struct postmortem *postmortem); /* all zero is allowed */

#endif
