/*
 * node_stage.h - each host by itself: allreduce and alltoall among its agents, checked.
 */
#ifndef CCTEST_ACCEPT_NODE_STAGE_H
#define CCTEST_ACCEPT_NODE_STAGE_H

#include "accept/acceptance.h"

/* A host is held against the others. One that is slow is measured again, and bad if it is slow
 * again. */
enum status node_stage_run(struct acceptance *acceptance, struct stage_result *result);

#endif
