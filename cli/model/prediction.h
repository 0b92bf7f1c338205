/*
 * prediction.h - how long a line of a job would take, by a model.
 */
#ifndef CCTEST_CLI_MODEL_PREDICTION_H
#define CCTEST_CLI_MODEL_PREDICTION_H

#include "run/job.h"
#include "simulate/simulator.h"

struct prediction {
    size_t count, bytes; /* as in struct result */
    double time;         /* us, of an iteration, as the table shows it */
    struct simulated simulated; /* for simulated_free() */
};

/* Of one candidate at one size (bytes, as asked), for one group of ranks. `node`: the host of each of
 * its ranks, as in struct simulation. A root that rotates is taken to be rank 0. Errors as of
 * simulate(). */
enum status prediction_make(const struct job *job, const struct candidate *candidate, size_t bytes,
                            const struct rank_group *group, const int *node,
                            const struct model *model, struct prediction *prediction);

#endif
