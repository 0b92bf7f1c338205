/*
 * engine.h - the state of a simulation moves on.
 */
#ifndef CCTEST_PREDICT_SIMULATE_ENGINE_H
#define CCTEST_PREDICT_SIMULATE_ENGINE_H

#include "predict/simulate/state.h"

/* Runs it until nothing happens any more. */
void engine_run(struct sim_engine *engine);

#endif
