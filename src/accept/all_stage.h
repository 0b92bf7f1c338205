/*
 * all_stage.h - the stages halves and all: what shows only when many talk at once.
 */
#ifndef CCTEST_ACCEPT_ALL_STAGE_H
#define CCTEST_ACCEPT_ALL_STAGE_H

#include "accept/acceptance.h"

/* The hosts that are good are halved at random, and each exchanges with one of the other half, all at
 * the same time, each time on another rail. */
enum status halves_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* Allreduce and alltoall over all agents of the hosts that are good, checked, and held against the
 * slowest of these hosts. */
enum status all_stage_run(struct acceptance *acceptance, struct stage_result *result);

#endif
