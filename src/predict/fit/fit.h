/*
 * fit.h - measures what a model needs of the hosts of a job, and fits it.
 */
#ifndef CCTEST_PREDICT_FIT_FIT_H
#define CCTEST_PREDICT_FIT_FIT_H

#include <sched.h>
#include <stdbool.h>

#include "controlplane/agents/agents.h"
#include "predict/simulate/simulate.h"
#include "run/run.h"

/* ---- fit.c ---- */

#define PASSES_MOST 3

/* One size of one algorithm. */
struct benchmark {
    const struct algorithm *algorithm;
    const struct collective *collective;
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: the collective does not combine */
    const struct transport_choice *transports;
    enum copy_policy copy;
    int window; /* of sendrecv: messages in flight; 0: it has no such option */
    int ranks;
    enum rank_distance distance; /* of its two ranks */
    int beside;                  /* cores that do the same beside them */
    size_t count;                /* elements, as in struct problem */
    size_t bytes;
    double time;  /* us, p50 of an iteration */
    double first; /* us, p50 of rank 0's own part; 0: it is not told apart */
    double times[PASSES_MOST], firsts[PASSES_MOST]; /* of each job; these are their medians */
    double noise; /* half of the 95% confidence interval of `time`, relative to it */
};

/* The same by a model: *time and *first in us. Errors as of simulate(). */
enum status benchmark_predict(const struct benchmark *benchmark, const struct model *model,
                              double *time, double *first);

/* The caches and pairs of the cores that the calling process may use; a cache is one of the third
 * level, or what a package has where there is none. */
struct core_pairs {
    int caches, cache_cores; /* caches, and the cores of the largest */
    bool has_near, has_far;  /* are there two cores of one cache; and of two? */
    cpu_set_t near,
        far; /* the first such pair; and the first cores of the first and the last cache */
};

/* Where hwloc cannot tell: one cache of all CPUs, and no pairs. */
void core_pairs_find(struct core_pairs *pairs);

/* ---- The benchmarks from which a model is fitted: which jobs run on which hosts, and the
 * lines of their results.
 * ---- */

/* The subject of a job's measurement. */
enum fit_subject {
    SUBJECT_ALONE,   /* one rank: its start, and copies in its memory */
    SUBJECT_BUS,     /* one rank on each core of a host, by itself: what they lose to each other */
    SUBJECT_PROBE,   /* two ranks: how long messages a slow link can be measured with */
    SUBJECT_LINK,    /* two ranks: what messages cost over one transport, on one path */
    SUBJECT_COMBINE, /* two ranks: what it costs to combine elements */
    SUBJECT_CROWD,   /* two ranks for each core of a host: the cost of a switch between them */
    SUBJECT_SHARING, /* the same, with all messages on one path: what each byte costs there */
};

/* A job, and its lines. */
struct fit_measurement {
    enum fit_subject subject;
    struct transport_choice transports[2]; /* one, and the end of the list; or any of the job's */
    char rail[NIC_TEXT_MOST]; /* its NIC port, "mlx5_2:1"; "": whatever the transport takes */
    enum path path;           /* SUBJECT_LINK, SUBJECT_SHARING */
    enum copy_policy copy;
    enum rank_distance distance; /* of its two ranks */
    const char *lines;           /* of the job: collectives, algorithms and the least size */
    size_t most;                 /* the largest size, bytes */
    int step;                    /* from size to size, a factor */
    struct benchmark *benchmarks;
    int count, passes;        /* of the jobs that have run */
    struct core_latency core; /* of the ranks of all of them */
    char why[300];            /* it has no lines: why, a clause; "" */
};

struct fit_measurements {
    struct fit_measurement *items;
    int count;
    int cores;               /* of the first host, for ranks */
    cpu_set_t own;           /* the CPUs of this process */
    struct core_pairs pairs; /* among them */
};

/* Called several times a second while measurement `index` of `count` runs. */
struct fit_progress {
    void (*call)(void *argument, int index, int count);
    void *argument;
};

/* Plans the jobs for the hosts of the fleet, and runs them one after the other, all of them several
 * times unless that takes long: a benchmark has the medians, since the memory and the cores that a
 * job gets may make all of it slow. Between hosts each NIC port of this host has jobs of its own.
 * `options`: of every job, each behind a blank, without --transport. A job that fails has no
 * benchmarks, and says why. STATUS_INTERRUPTED; STATUS_ERROR: memory ran out, or there are too many
 * jobs. The caller calls measurements_free() in any case. */
enum status measurements_make(struct coordinator *coordinator, const struct job *job,
                              const char *options, const struct fit_progress *progress,
                              struct fit_measurements *measurements);
void measurements_free(struct fit_measurements *measurements);

struct fit_arguments {
    const struct job *job;
    const char *options; /* of every small job, each behind a blank */
    struct agent_config agents;
    struct fit_progress progress;
    /* Rank 0: checks where the result goes, before anything is measured. A failure ends the fit. */
    enum status (*begin)(void *argument);
    /* Rank 0: takes the result, and returns the final status. */
    enum status (*take)(void *argument, const struct fit_measurements *measurements,
                        const struct model *model);
    void *argument;
};

/* Runs an agent, or as rank 0 all measurements; a rank_main whose argument is a struct
 * fit_arguments. */
enum status fit_run(const struct membership *membership, void *arguments);

/* ---- Finds the costs of a model by which the simulator says what was measured.
 *
 * Each cost is changed by a factor, up and down, and the change is kept if the benchmarks are then
 * told better: coordinate descent on the logarithms, with factors that shrink. So what is fitted is
 * the simulator itself, and no formula beside it. The error of a benchmark is |ln(predicted /
 * measured)|; their sum is what falls.
 * ---- */

/* A cost of the model, to be found. */
struct unknown {
    double *value; /* in the model; above 0 */
    double least;  /* it does not fall below this */
};

/* The error of a benchmark, as above: that of its time, and of rank 0's part where it has one, half
 * each. */
enum status benchmark_error(const struct benchmark *benchmark, const struct model *model,
                            double *error);

#endif
