/*
 * all_stage.h - the stages halves and all: what shows only when many talk at once.
 */
#ifndef CCTEST_ACCEPT_ALL_STAGE_H
#define CCTEST_ACCEPT_ALL_STAGE_H

#include "accept/pairs_stage.h"

/* The hosts that are good are halved at random, and each exchanges with one of the other half. */
enum status halves_stage_run(struct acceptance *acceptance, const struct pairs_state *pairs,
                             struct stage_result *result);

/* Allreduce and alltoall over all agents of the hosts that are good, checked. */
enum status all_stage_run(struct acceptance *acceptance, const struct pairs_state *pairs,
                          struct stage_result *result);

#endif
