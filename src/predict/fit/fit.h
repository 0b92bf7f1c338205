/*
 * fit.h - measures what a model needs of the hosts of a job, and fits it.
 */
#ifndef CCTEST_PREDICT_FIT_FIT_H
#define CCTEST_PREDICT_FIT_FIT_H

#include "predict/fit/measure.h"

struct fit_arguments {
    const struct job *job;
    const char *options; /* of every small job, each behind a blank */
    struct agent_config agents;
    struct fit_progress progress;
    /* Rank 0: takes the result, and returns the final status. */
    enum status (*take)(void *argument, const struct fit_measurements *measurements,
                        const struct model *model);
    void *argument;
};

/* Runs an agent, or as rank 0 all measurements; a rank_main whose argument is a struct fit_arguments. */
enum status fit_run(const struct membership *membership, void *arguments);

#endif
