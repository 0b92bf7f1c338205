/*
 * simulation.h - what is to be simulated.
 */
#ifndef CCTEST_PREDICT_SIMULATE_SIMULATION_H
#define CCTEST_PREDICT_SIMULATE_SIMULATION_H

#include "dataplane/memory/memory.h"
#include "collective/schedule/algorithm.h"
#include "predict/simulate/model.h"
#include "predict/topology/topology.h"

struct simulation {
    const struct model *model;
    const struct choice *choice;
    const struct problem *problem;  /* one for each group of ranks; all have the same number of ranks */
    int groups;                     /* that run at the same time; 1: all ranks, numbered as in it */
    int channels;                   /* slices of every block */
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: the collective does not combine */
    const struct memory_kind *memory;
    const struct transport_choice *transports; /* that may be used, ended by a NULL transport */
    enum copy_policy copy;
    size_t chunk;    /* bytes; 0: whole messages; GRAIN_AUTO */
    const struct topology *topology; /* between the hosts; NULL: only their ports are shared */
    const int *end;  /* of each of the job's ranks, in the topology */
    bool shared;     /* the buffers lie in memory that peers of the host can map */
    const int *node; /* the host of each of the job's ranks, from 0, fewer than the ranks; NULL: all have
                        one host */
    const int *core; /* of each of the job's ranks, on its host: which ranks share a cache; NULL: in turn, as a run binds
                        them */
    const int *rail; /* of each of the job's ranks: by which of the model's rails it reaches other hosts, from 0; NULL: the
                        ranks of a host take turns */
    bool barrier;    /* an iteration begins for each rank when the start barrier of a run releases it, where
                        there are several hosts and not too many ranks; else for all at once */
    const double *released; /* when: simulate() finds it */
    int beside;      /* cores of each host that are busy with other work */
    bool each_rank;  /* simulates all ranks, also where rank 0 stands for all */
    double *step_end;     /* filled in: when the last rank ends each step, us; 0: no rank has it. NULL, and
                             0 steps: not asked for */
    int steps;            /* that it has room for */
    double *group_time;   /* filled in: of each group, until its last rank has ended, us; where ranks share
                             cores, in the simulation of which simulated->time is. NULL: not asked for */
    uint64_t events_most; /* then it is given up, all runs together; 0: any number */
    int pieces;      /* into which a long message is cut at most, so that its ends work at the same
                        time; 1: none is cut */
};

/* Of all groups. */
static inline int simulation_ranks(const struct simulation *simulation)
{
    return simulation->groups * simulation->problem->ranks;
}

#endif
