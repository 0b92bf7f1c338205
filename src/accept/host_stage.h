/*
 * host_stage.h - a stage that looks at each host by itself: a job on each, or on each of its NICs, all
 * hosts at once, whose numbers are held against those of the other hosts.
 *
 * A host that stands out is measured once more, and is bad if it stands out again in the same number. One
 * whose job fails is bad.
 */
#ifndef CCTEST_ACCEPT_HOST_STAGE_H
#define CCTEST_ACCEPT_HOST_STAGE_H

#include "accept/acceptance.h"

/* A number in the results of the job. A host has that of its worst part (the slowest of its GPUs). */
struct host_metric {
    const char *key;  /* of measured_numbers: "node.allreduce.busbw" */
    const char *name; /* "allreduce of 1M among its ranks" */
    const char *unit;
    const char *collective, *number; /* of the line, as in trials_line(), and in it */
    size_t bytes;
    bool less_is_better;
    double floor; /* a share of the fleet's median by which a healthy host may differ */
};

enum host_ranks {
    RANKS_OF_AGENTS, /* the job has all agents of the host, which are several */
    RANKS_ALONE,     /* the worker of one agent does it all */
    RANKS_ON_NIC, /* likewise, a job for each NIC port in turn, over verbs through that port alone */
};

/* Jobs of one kind. */
struct host_look {
    const char *command;
    enum host_ranks ranks;
    const char *fails; /* "collectives among its own ranks fail" */
    double seconds;    /* that a job may take */
    const struct host_metric *metrics;
    int metric_count;
};

/* Takes one look after the other. A metric that no host has is left out. */
enum status host_stage_run(struct acceptance *acceptance, enum accept_stage stage,
                           const struct host_look *looks, int count, struct stage_result *result);

#endif
