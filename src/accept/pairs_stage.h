/*
 * pairs_stage.h - the stages pairs and isolate: hosts meet in disjoint pairs, and suspects meet
 * hosts that were only ever good until each is confirmed or cleared (screening/).
 */
#ifndef CCTEST_ACCEPT_PAIRS_STAGE_H
#define CCTEST_ACCEPT_PAIRS_STAGE_H

#include "accept/pair_jobs.h"

/* What pairs found and isolate goes on with. */
struct pairs_state {
    struct pair_jobs jobs;
    struct readings readings;
    int rounds;
};

enum status pairs_stage_run(struct acceptance *acceptance, struct pairs_state *state,
                            struct stage_result *result);
enum status isolate_stage_run(struct acceptance *acceptance, struct pairs_state *state,
                              struct stage_result *result);
void pairs_state_free(struct pairs_state *state);

#endif
