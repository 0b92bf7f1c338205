/*
 * internal.h - for the files of predict/fit/ alone.
 */
#ifndef CCTEST_PREDICT_FIT_INTERNAL_H
#define CCTEST_PREDICT_FIT_INTERNAL_H

#include "predict/fit/fit.h"

/* ---- measure.c ---- */

/* Takes the benchmarks of a job that has run, from its JSON, or why it has none. Their `times` and
 * `firsts` are those of each job so far. STATUS_ERROR: memory ran out. */
enum status measurement_read(const struct job *job, const struct fleet_outcome *outcome,
                             struct fit_measurement *measurement);

/* ---- From benchmarks to a model. ---- */

/* Finds all costs of `model`, part by part: a rank alone, each link, combining, shared cores. Sets
 * cores; the texts are the caller's. A part without benchmarks is left out: STATUS_UNAVAILABLE if
 * that is every link. Other errors as of benchmark_predict(). */
enum status model_fit(const struct fit_measurements *measurements, struct model *model);

#endif
