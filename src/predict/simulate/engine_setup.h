/*
 * engine_setup.h - makes the state of a simulation: ranks on cores, and channels with their messages.
 */
#ifndef CCTEST_PREDICT_SIMULATE_ENGINE_SETUP_H
#define CCTEST_PREDICT_SIMULATE_ENGINE_SETUP_H

#include "predict/simulate/state.h"

/* All at rest, at time 0. `phase`, 0 to 1: where cores that ranks share stand in the rounds of their
 * ranks. Errors as of simulate(). */
enum status engine_open(const struct simulation *simulation, const struct programs *programs,
                        double phase, struct sim_engine *engine);
void engine_close(struct sim_engine *engine);

/* How many operations of all ranks a simulation can hold in the memory that is left. */
size_t engine_operations_most(void);

/* How far two ranks are from each other. */
enum rank_distance engine_distance(const struct simulation *simulation, int a, int b);

#endif
