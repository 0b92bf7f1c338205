/*
 * benchmark.h - a line that was measured to fit a model, and what the model says of it.
 */
#ifndef CCTEST_PREDICT_FIT_BENCHMARK_H
#define CCTEST_PREDICT_FIT_BENCHMARK_H

#include "predict/simulate/simulator.h"

#define PASSES_MOST 3

/* One size of one algorithm. */
struct benchmark {
    const struct algorithm *algorithm;
    const struct collective *collective;
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: the collective does not combine */
    const struct transport_choice *transports;
    enum copy_policy copy;
    int window;    /* of sendrecv: messages in flight; 0: it has no such option */
    int ranks;
    enum rank_distance distance; /* of its two ranks */
    int beside;    /* cores that do the same beside them */
    size_t count;  /* elements, as in struct problem */
    size_t bytes;
    double time;   /* us, p50 of an iteration */
    double first;  /* us, p50 of rank 0's own part; 0: it is not told apart */
    double times[PASSES_MOST], firsts[PASSES_MOST]; /* of each job, of which these are the medians */
    double noise;  /* half of the 95% confidence interval of `time`, relative to it */
};

/* The same by a model: *time and *first in us. Errors as of simulate(). */
enum status benchmark_predict(const struct benchmark *benchmark, const struct model *model,
                              double *time, double *first);

#endif
