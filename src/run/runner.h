/*
 * runner.h - runs executors, or a vendor's collectives, on one rank, again and again.
 *
 * A runner holds what lasts for the whole job: links, the local engine, the start barrier.
 */
#ifndef CCTEST_RUN_RUNNER_H
#define CCTEST_RUN_RUNNER_H

#include "controlplane/control/control.h"
#include "dataplane/execute/device_group.h"
#include "dataplane/execute/executor.h"
#include "run/buffers.h"
#include "run/job.h"
#include "run/staging_area.h"
#include "run/start_barrier.h"
#include "run/reference/reference.h"

struct runner {
    const struct job *job;
    struct control *control;
    struct progress *progress;
    int rank, ranks;         /* of the job */
    struct node_ranks node;  /* the ranks of this host */
    struct split split;      /* owned by the session */
    struct rank_group group; /* this rank's: the collective runs in each at the same time */
    int group_rank;          /* its rank there */
    struct links *links;
    const struct vendor *vendor; /* of a candidate of the job; NULL: of none */
    struct vendor_session *vendor_session;
    struct memory memory;        /* where the buffers lie */
    struct device_group devices; /* that may run schedules; without a machine, none may */
    struct staging_area staging;
    size_t chunk;             /* bytes; 0: whole messages; GRAIN_AUTO */
    size_t nontemporal_least; /* as in struct executor_config */
    int spins;                /* idle polls before the core is yielded */
    struct tick tick;         /* for long work and for waits, both outside of runs */
    long iteration;           /* over everything that this rank has run */
    uint64_t last_check;      /* when an idle wait last checked the job and the network, ns */
    uint64_t idle_since;      /* when it first did so since bytes moved, ns; 0: not yet */
    bool yield_was_slow;      /* the last one: another program had the core */
    uint64_t crowded_until;   /* until then other programs are thought to want the core, ns */
    int unheard;              /* as in struct idle_report */
    uint64_t arrived;         /* as in struct idle_report, at the last check; 0: not known */
    struct start_barrier start_barrier;
    struct traffic start_traffic[TRANSPORTS_MOST]; /* of the start barriers, by endpoint */
    struct profile profile; /* of iterations without the start barriers, if the job asks for it */
};

/* Sets runner->tick: it counts work as progress, shows rank 0 which peer this rank waits for, and
 * answers by the state of the job. */
void runner_tick_open(struct runner *runner);

/* This rank's profile; NULL: the job does not ask for one. */
struct profile *runner_profile(struct runner *runner);

/* What all executors of this rank have in common; the rest is zero. */
struct executor_config runner_executor_config(const struct runner *runner);

/* Outside of runs: shows in runner->progress that this rank waits for `peer`; -1: for none. */
void runner_await(struct runner *runner, int peer);

/* The start barrier, before a series of iterations. *released: when it let this rank go on, ns. */
enum status runner_synchronize(struct runner *runner, uint64_t *released);

/* Runs to its end what has been started: spins, then yields. Checks now and then whether the job
 * has ended or a peer has died, and shows in runner->progress what it waits for. */
enum status runner_complete(struct runner *runner, struct execution *execution);

/* What this rank has waited for so far says nothing of other programs: it was work of ranks that share
 * its core, outside of runs. */
void runner_calm(struct runner *runner);

/* Of an iteration on this rank, ns. */
struct iteration_times {
    uint64_t late;     /* from its release to its beginning */
    uint64_t duration; /* from its release to its end */
    uint64_t released; /* when, by clock_ns() */
    uint64_t device;   /* that a device took for it, by the device's clock; 0: none did */
};

/* One iteration in the job's start mode, after the faults injected at its beginning. Iterations
 * that run back to back are released by the end of the last one: *released (ns) is read, and set to
 * the end of this one; they are not late, unless faults are injected. */
enum status runner_iterate(struct runner *runner, struct execution *execution, uint64_t *released,
                           struct iteration_times *times);

#endif
