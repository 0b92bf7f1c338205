/*
 * wire.h - pieces of messages on the wires of their channels, one after the other on each.
 */
#ifndef CCTEST_PREDICT_SIMULATE_WIRE_H
#define CCTEST_PREDICT_SIMULATE_WIRE_H

#include "predict/simulate/state.h"

/* A piece leaves the sender: its bytes will arrive at the receiver (EVENT_ARRIVED). */
/* `begins`: these are the first bytes of a message, which take the gap, too. */
void wire_send(struct sim_engine *engine, uint32_t channel, size_t bytes,
               const struct path_cost *cost, bool begins);

/* The piece that ends next has passed its wire, now. */
void wire_end(struct sim_engine *engine);

#endif
