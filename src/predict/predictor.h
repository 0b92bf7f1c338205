/*
 * predictor.h - predictions for which ranks wait: beside the lines of a run, and before `cctest tune` measures
 * (--model).
 */
#ifndef CCTEST_PREDICT_PREDICTOR_H
#define CCTEST_PREDICT_PREDICTOR_H

#include "predict/prediction.h"
#include "run/results/report.h"

struct predictor {
    struct model *model; /* NULL: no predictions; freed by predictor_close() */
    int *node;           /* of each rank of the job */
    const struct split *split;
    bool silent; /* a line could not be predicted, which has been said */
};

/* Reads the model in this file; NULL: there is none. Errors as of model_read(). */
enum status predictor_open(struct predictor *predictor, const char *path);
void predictor_close(struct predictor *predictor); /* zeroed is allowed */

/* The ranks are known. Says if the model was made elsewhere. */
void predictor_begin(struct predictor *predictor, const struct job *job,
                     const struct participants *participants);

/* The ranks are connected. Says if the latency between their cores is another than when the model was made. */
void predictor_connected(const struct predictor *predictor, const struct job *job,
                         const struct connectivity *connectivity);

/* Says if the model was made on another host than rank 0's. */
void predictor_warn(const struct predictor *predictor, const struct job *job, const char *host);

/* Predicts the time of a candidate at one size (bytes, as asked), in all groups of the split, us, as the table shows it; 0: there is no
 * prediction, since it would take more than about a second, or the model does not know what it needs. Why,
 * it says once. The setting's events_most and barrier are the
 * predictor's. */
double predictor_time(struct predictor *predictor, const struct job *job,
                      const struct candidate *candidate, size_t bytes, const struct split *split,
                      struct prediction_setting setting);

/* Predicts the times of a line and of its steps; without a prediction they stay 0. */
void predictor_line(struct predictor *predictor, const struct job *job, struct result *result);

#endif
