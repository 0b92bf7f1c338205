/*
 * runner.h - runs executors on one rank, again and again.
 *
 * A runner holds what lasts for the whole job: links, the local engine, the start barrier.
 */
#ifndef CCTEST_RUN_RUNNER_H
#define CCTEST_RUN_RUNNER_H

#include "control/control.h"
#include "execute/executor.h"
#include "run/buffers.h"
#include "run/job.h"
#include "run/start_barrier.h"

struct runner {
    const struct job *job;
    struct control *control;
    struct progress *progress;
    int rank, ranks;
    struct node_ranks node; /* the ranks of this host */
    struct shape *shape;    /* owned by the session */
    struct links *links;
    struct engine *engine;
    size_t chunk;             /* bytes; 0: whole messages; GRAIN_AUTO */
    size_t nontemporal_least; /* as in struct executor_config */
    int spins;                /* idle looks before the core is given to somebody else */
    struct tick tick;         /* for long work and for waits, both outside of runs */
    long iteration;           /* over everything that this rank has run */
    uint64_t last_look;       /* when an idle wait last looked at the world, ns */
    uint64_t still;           /* when it first did so since anything moved, ns; 0: not yet */
    int unheard;              /* as in struct idle_report */
    uint64_t arrived;         /* likewise, at the last look; 0: not known */
    struct start_barrier start_barrier;
    struct traffic start_traffic[TRANSPORTS_MOST]; /* of the start barriers, by endpoint */
    struct profile profile; /* of iterations, but for the start barriers, if the job asks for it */
};

/* Sets runner->tick: it counts work as progress, shows rank 0 which peer this rank waits for, and
 * answers by the state of the job. */
void runner_tick_open(struct runner *runner);

/* What all plans of this rank have in common; the rest is zero. */
struct executor_config runner_executor_config(const struct runner *runner);

/* Runs a plan to its end: spins, then yields; looks now and then whether the job has ended or a
 * peer has died, and tells the pulse what it waits in. */
enum status runner_run(struct runner *runner, struct executor *executor);

/* Outside of a plan: tells the pulse that this rank waits for `peer`; -1: for none any more. */
void runner_await(struct runner *runner, int peer);

/* Waits until every rank is here, before a series of iterations; *released: when it went on, ns. */
enum status runner_settle(struct runner *runner, uint64_t *released);

/* One iteration in the job's start mode, with the injected delays and deaths. *late: ns from its
 * release to its beginning; *duration: ns from its release to its end on this rank. *released is
 * the end of the last iteration when it starts back to back (ns), and is set to the end of this
 * one. */
enum status runner_iterate(struct runner *runner, struct executor *executor, uint64_t *released,
                           uint64_t *late, uint64_t *duration);

#endif
