/*
 * prediction.h - how long a line of a job would take, by a model.
 */
#ifndef CCTEST_PREDICT_PREDICTION_H
#define CCTEST_PREDICT_PREDICTION_H

#include "run/job.h"
#include "predict/simulate/simulator.h"

/* Where the ranks of the job sit, how long it may take, and room for the times of steps and groups (halves
 * where an iteration goes there and back); as in struct simulation. */
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

/* The hosts of ranks, given as any numbers, numbered in the order of their first ranks: what `node` is.
 * The caller frees it with free(); NULL: out of memory. */
int *hosts_number(const int *host, int ranks);

struct prediction {
    size_t count, bytes; /* as in struct result */
    double time;         /* us, of an iteration, as the table shows it */
    struct simulated simulated;
};

/* STATUS_USAGE if no model knows what the job asks for: memory of GPUs. */
enum status prediction_check(const struct job *job);

/* Of one candidate at one size (bytes, as asked), in all groups of the split at the same time: the
 * slowest group's time. A root that rotates is taken to be rank 0. Errors as of simulate(). */
enum status prediction_make(const struct job *job, const struct candidate *candidate, size_t bytes,
                            const struct split *split,
                            const struct prediction_setting *setting,
                            const struct model *model, struct prediction *prediction);

#endif
