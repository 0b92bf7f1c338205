/*
 * engine.h - the state of a simulation moves on.
 */
#ifndef CCTEST_SIMULATE_ENGINE_H
#define CCTEST_SIMULATE_ENGINE_H

#include "simulate/state.h"

/* Runs it until nothing happens any more. */
void engine_run(struct sim_engine *engine);

#endif
