/*
 * predict.h - the interface of predict/.
 */
#ifndef CCTEST_PREDICT_PREDICT_H
#define CCTEST_PREDICT_PREDICT_H

#include <jansson.h>

#include "base/json_field.h"
#include "predict/simulate/simulate.h"
#include "run/run.h"
#include "run/results/results.h"

/* ---- A model as a file: what `cctest fit` writes, and --model reads. ---- */

/* STATUS_USAGE, with the file and the place in it, for one that is no model. On success the caller
 * frees *model with free(). */
enum status model_read(const char *path, struct model **model); /* also says if its cores moved */
/* The same of a document that has been read. */
enum status model_document_read(const char *path, const json_t *document, struct model **model);

#define MODEL_MOVED_TEXT_MOST 240
/* The clause that the cores moved while the model was made; NULL: nothing shows that they did. */
const char *model_moved_text(const struct model *model, char to[MODEL_MOVED_TEXT_MOST]);

/* The document; `residuals` (taken over, NULL: none): how well its numbers fit. NULL: out of
 * memory. */
json_t *model_json(const struct model *model, json_t *residuals);

/* ---- prediction.c ---- */

/* Where the ranks of the job sit, how long it may take, and room for the times of steps and groups
 * (halves where an iteration goes there and back); as in struct simulation. */
struct prediction_setting {
    const int *node;
    const struct topology *topology; /* NULL: not known */
    const int *end;
    bool barrier;
    uint64_t events_most;
    double *step_end;
    int steps;
    double *group_time; /* of each group, us; NULL: not asked for */
};

/* The hosts of ranks, given as any numbers, numbered in the order of their first ranks: what `node`
 * is. The caller frees it with free(); NULL: out of memory. */
int *hosts_number(const int *host, int ranks);

struct prediction {
    size_t count, bytes; /* as in struct result */
    double time;         /* us, of an iteration, as the table shows it */
    struct simulated simulated;
};

/* STATUS_USAGE if no model knows what the job asks for: memory of GPUs. */
enum status prediction_check(const struct job *job);

/* Predicts one candidate at one size (bytes, as asked), in all groups of the split at the same
 * time: the slowest group's time. A root that rotates is taken to be rank 0. Errors as of
 * simulate(). */
enum status prediction_make(const struct job *job, const struct candidate *candidate, size_t bytes,
                            const struct split *split, const struct prediction_setting *setting,
                            const struct model *model, struct prediction *prediction);

/* ---- Predictions for which ranks wait: beside the lines of a run, and before `cctest tune`
 * measures (--model).
 * ---- */

struct predictor {
    struct report_predictor report; /* first: the hooks get it */
    struct model *model;            /* NULL: no predictions; freed by predictor_close() */
    int *node;                      /* of each rank of the job */
    const struct split *split;
    bool silent; /* a line could not be predicted, which has been said */
};

/* Reads the model in this file; NULL: there is none. Errors as of model_read(). */
enum status predictor_open(struct predictor *predictor, const char *path);
void predictor_close(struct predictor *predictor); /* zeroed is allowed */

/* Says if the model was made on another host than rank 0's. */
void predictor_warn(const struct predictor *predictor, const struct job *job, const char *host);

/* Predicts the time of a candidate at one size (bytes, as asked), in all groups of the split, us,
 * as the table shows it; 0: there is no prediction, since it would take more than about a second,
 * or the model does not know what it needs. Why, it says once. The setting's events_most and
 * barrier are the predictor's. */
double predictor_time(struct predictor *predictor, const struct job *job,
                      const struct candidate *candidate, size_t bytes, const struct split *split,
                      struct prediction_setting setting);

/* ---- The keys of a model in JSON (model_file.c). ---- */

extern const struct json_field fit_fields[];          /* of struct model; context: the residuals, */
extern const struct json_field model_fields[];        /* the same; */
extern const struct json_field combine_cost_fields[]; /* of struct combine_cost, */
extern const struct json_field link_model_fields[];   /* struct link_model, */
extern const struct json_field path_cost_fields[];    /* and struct path_cost */

#endif
