/*
 * tuner.h - which algorithm is the fastest, for each collective, number of ranks and size: measured on a
 * fleet of agents (controlplane/agents/coordinator.h) by small jobs, one after the other.
 *
 * Each number of ranks has jobs of its own, on the agents with the lowest ranks, as a job of that size
 * would have. The first round of a size has all algorithms that may win (tune/names.h), and checks every
 * byte. Later rounds have what is left (tune/race.h), until all races are settled or the time is over.
 */
#ifndef CCTEST_TUNE_TUNER_H
#define CCTEST_TUNE_TUNER_H

#include "tune/state.h"
#include "tune/tune_options.h"

struct tuner_arguments {
    const struct job *job;
    const struct tune_options *asked;
    const char *options;
    struct forecast *forecast; /* rank 0; NULL: none */
    struct agent_config agents;
    struct tune_report *report; /* rank 0 */
};

/* Runs an agent, or as rank 0 the races; a rank_main whose argument is a struct tuner_arguments.
 * STATUS_WRONG_DATA if any algorithm had wrong data, STATUS_ERROR if nothing could be measured. */
enum status tuner_run(const struct membership *membership, void *arguments);

#endif
