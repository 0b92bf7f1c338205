/*
 * simulator.h - how long a collective takes: computes it from the schedules and the costs of a model.
 *
 * The simulator interprets the schedules that the executor runs, in the same way: operations are open
 * at once but for fences, each goes as far as earlier ones allow (collective/schedule/limit.h), messages on a
 * lane keep their order, and what a message does depends on its path. Time is that of cores, each of
 * which serves one operation at a time, piece by piece and in turn, and of wires, which flows share
 * fairly (flows.h).
 */
#ifndef CCTEST_PREDICT_SIMULATE_SIMULATOR_H
#define CCTEST_PREDICT_SIMULATE_SIMULATOR_H

#include "predict/simulate/programs.h"
#include "predict/simulate/simulation.h"

struct simulated {
    double time;            /* us, until the last rank has ended */
    int slowest;            /* that rank */
    double first;           /* us, of rank 0, from its own beginning */
    int ranks;              /* that were simulated */
    enum symmetry symmetry; /* that let rank 0 stand for all */
};

/* Errors: STATUS_USAGE: the algorithm refuses the problem, or the model lacks the links that it needs;
 * STATUS_ERROR: memory ran out, or it takes more than simulation->events_most. */
enum status simulate(const struct simulation *simulation, struct simulated *simulated);

#endif
