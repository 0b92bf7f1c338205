/*
 * fitting.h - finds the costs of a model by which the simulator says what was measured.
 *
 * Each cost is changed by a factor, up and down, and the change is kept if the benchmarks are then
 * told better: coordinate descent on the logarithms, with factors that shrink. So what is fitted is
 * the simulator itself, and no formula beside it. The error of a benchmark is |ln(predicted /
 * measured)|; their sum is what falls.
 */
#ifndef CCTEST_PREDICT_FIT_FITTING_H
#define CCTEST_PREDICT_FIT_FITTING_H

#include "predict/fit/benchmark.h"

/* A cost of the model, to be found. */
struct unknown {
    double *value;  /* in the model; above 0 */
    double least;   /* it does not fall below this */
};

/* Improves the unknowns from where they stand. `count` benchmarks decide. Errors as of
 * benchmark_predict(). */
enum status unknowns_fit(struct unknown *unknowns, int unknown_count,
                         const struct benchmark *benchmarks, int count, const struct model *model);

/* The error of a benchmark, as above: that of its time, and of rank 0's part where it has one, half
 * each. */
enum status benchmark_error(const struct benchmark *benchmark, const struct model *model,
                            double *error);

#endif
