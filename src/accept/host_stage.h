/*
 * host_stage.h - a stage that looks at each host by itself: one job on each, all at once, whose
 * numbers are held against those of the other hosts.
 *
 * A host that stands out is measured once more, and is bad if it stands out again.
 */
#ifndef CCTEST_ACCEPT_HOST_STAGE_H
#define CCTEST_ACCEPT_HOST_STAGE_H

#include "accept/acceptance.h"

#define HOST_METRICS_MOST 8

/* A number in the results of the job. */
struct host_metric {
    const char *key;  /* of measured_numbers: "node.allreduce.busbw" */
    const char *name; /* "allreduce of 1M among its ranks" */
    const char *unit;
    const char *collective, *number; /* of the line, as in trials_line(), and in it */
    size_t bytes;
    bool less_is_better;
    double floor; /* a share of the fleet's median by which a healthy host may differ */
};

struct host_stage {
    enum accept_stage stage;
    const char *command;
    bool alone;        /* the job has one rank, else all agents of the host, which are several */
    const char *fails; /* "collectives among its own ranks fail" */
    double seconds;
    const struct host_metric *metrics;
    int metric_count;
};

enum status host_stage_run(struct acceptance *acceptance, const struct host_stage *stage,
                           struct stage_result *result);

#endif
