/*
 * node_stage.h - each host by itself: allreduce and alltoall among its agents, checked.
 */
#ifndef CCTEST_ACCEPT_NODE_STAGE_H
#define CCTEST_ACCEPT_NODE_STAGE_H

#include "accept/acceptance.h"

enum status node_stage_run(struct acceptance *acceptance, struct stage_result *result);

#endif
