/*
 * measure.h - the benchmarks from which a model is fitted: which jobs run on which hosts, and the
 * lines of their results.
 */
#ifndef CCTEST_PREDICT_FIT_MEASURE_H
#define CCTEST_PREDICT_FIT_MEASURE_H

#include "predict/fit/benchmark.h"
#include "predict/fit/core_pairs.h"
#include "controlplane/agents/coordinator.h"
#include "controlplane/agents/nic_ports.h"
#include "run/job.h"
#include "predict/simulate/model.h"

/* What a job is to find. */
enum fit_subject {
    SUBJECT_ALONE,   /* one rank: its start, and copies in its memory */
    SUBJECT_BUS,     /* one rank on each core of a host, by itself: what they lose to each other */
    SUBJECT_PROBE,   /* two ranks: how long messages a slow link can be measured with */
    SUBJECT_LINK,    /* two ranks: what messages cost over one transport, on one path */
    SUBJECT_COMBINE, /* two ranks: what it costs to combine elements */
    SUBJECT_CROWD,   /* two ranks for each core of a host: what it takes to go from one to another */
    SUBJECT_SHARING, /* the same, with all messages on one path: what each byte costs there */
};

/* A job, and its lines. */
struct fit_measurement {
    enum fit_subject subject;
    struct transport_choice transports[2]; /* one, and the end of the list; or any of the job's */
    char rail[NIC_TEXT_MOST]; /* the NIC port that it uses, "mlx5_2:1"; "": whatever the transport takes */
    enum path path;       /* SUBJECT_LINK, SUBJECT_SHARING */
    enum copy_policy copy;
    enum rank_distance distance; /* of its two ranks */
    const char *lines;    /* of the job: collectives, algorithms and the least size */
    size_t most;          /* the largest size, bytes */
    int step;             /* from size to size, a factor */
    struct benchmark *benchmarks;
    int count, passes;    /* of the jobs that have run */
    struct core_latency core; /* of the ranks of all of them */
    char why[300]; /* it has no lines: why, a clause; "" */
};

struct fit_measurements {
    struct fit_measurement *of;
    int count;
    int cores; /* of the first host, for ranks */
    cpu_set_t own;           /* the CPUs of this process */
    struct core_pairs pairs; /* among them */
};

/* Called several times a second while measurement `index` of `count` runs. */
struct fit_progress {
    void (*call)(void *argument, int index, int count);
    void *argument;
};

/* Plans the jobs for the hosts of the fleet, and runs them one after the other, all of them several times
 * unless that takes long: a benchmark has the medians, since the memory and the cores that a job gets may
 * make all of it slow. Between hosts each NIC port of this host has jobs of its own. `options`: of every
 * job, each behind a blank, without --transport. A job that fails has no benchmarks, and says why.
 * STATUS_INTERRUPTED; STATUS_ERROR: memory ran out, or there are too many jobs. The caller calls
 * measurements_free() in any case. */
enum status measurements_make(struct coordinator *coordinator, const struct job *job,
                              const char *options, const struct fit_progress *progress,
                              struct fit_measurements *measurements);
void measurements_free(struct fit_measurements *measurements);

#endif
