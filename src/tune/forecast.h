/*
 * forecast.h - what a model says of the algorithms that `cctest tune` is to measure (--model).
 */
#ifndef CCTEST_TUNE_FORECAST_H
#define CCTEST_TUNE_FORECAST_H

#include "predict/predictor.h"
#include "tune/state.h"

struct model_forecast {
    struct forecast forecast; /* first: the hook gets it */
    const struct job *job;
    struct predictor predictor;
};

/* Reads the model of the job. Errors as of model_read(), and STATUS_USAGE if no model knows the job's memory. */
enum status forecast_open(struct model_forecast *forecast, const struct job *job);
void forecast_close(struct model_forecast *forecast); /* zeroed is allowed */

#endif
