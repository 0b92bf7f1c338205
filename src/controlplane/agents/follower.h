/*
 * follower.h - the life of every agent of a fleet but rank 0.
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_FOLLOWER_H
#define CCTEST_CONTROLPLANE_AGENTS_FOLLOWER_H

#include "controlplane/agents/agent.h"

/* Calls rank 0, goes where that sends it, obeys orders, and brings rank 0 the reports of its own
 * worker and of the agents that it leads. Returns the status with which rank 0 ended the run;
 * STATUS_TIMEOUT, said, if rank 0 cannot be reached or falls silent. */
enum status follower_run(const struct membership *membership, const struct agent_config *config);

#endif
