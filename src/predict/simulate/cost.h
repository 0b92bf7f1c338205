/*
 * cost.h - how much of an operation a core moves in one turn, and how long that takes.
 */
#ifndef CCTEST_PREDICT_SIMULATE_COST_H
#define CCTEST_PREDICT_SIMULATE_COST_H

#include "predict/simulate/state.h"

/* What a send costs: by the path that its transport takes. Decided when it begins, as there. */
const struct path_cost *cost_of_send(const struct sim_engine *engine, uint32_t operation);

/* Does each message of the rank move whole, so that nothing is streamed? As the executor decides. */
bool cost_rank_is_whole(const struct sim_engine *engine, const struct sim_rank *rank);

/* Bytes of an operation's next piece, of `bytes` that can move. */
size_t cost_piece(const struct sim_engine *engine, uint32_t operation, size_t bytes);

/* What the core takes for such a piece (us). */
double cost_time(const struct sim_engine *engine, uint32_t operation, size_t bytes);

/* Bytes after which other operations learn that this one has moved: the grain of the executor. */
size_t cost_grain(const struct sim_engine *engine, uint32_t operation);

#endif
