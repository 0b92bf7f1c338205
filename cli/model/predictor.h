/*
 * predictor.h - the predictions beside the lines of a run (--model).
 */
#ifndef CCTEST_CLI_MODEL_PREDICTOR_H
#define CCTEST_CLI_MODEL_PREDICTOR_H

#include "measure/report.h"

struct predictor {
    struct model *model; /* NULL: no predictions; freed by predictor_close() */
    int *node;           /* of each rank of the job */
    const struct split *split;
    bool silent; /* a line could not be predicted, which has been said */
};

/* Reads the model of the job, if it has one. Errors as of model_read(). */
enum status predictor_open(struct predictor *predictor, const struct job *job);
void predictor_close(struct predictor *predictor); /* zeroed is allowed */

/* The ranks are known. Says if the model was made elsewhere. */
void predictor_begin(struct predictor *predictor, const struct job *job,
                     const struct participants *participants);

/* Predicts the times of a line and of its steps; without a prediction they stay 0. Why, it says once. */
void predictor_line(struct predictor *predictor, const struct job *job, struct result *result);

#endif
