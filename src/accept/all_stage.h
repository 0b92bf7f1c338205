/*
 * all_stage.h - the stage all: collectives over all hosts that are good.
 */
#ifndef CCTEST_ACCEPT_ALL_STAGE_H
#define CCTEST_ACCEPT_ALL_STAGE_H

#include "accept/acceptance.h"

/* Allreduce and alltoall over all agents of the hosts that are good, checked, and held against the
 * slowest of these hosts. */
enum status all_stage_run(struct acceptance *acceptance, struct stage_result *result);

#endif
