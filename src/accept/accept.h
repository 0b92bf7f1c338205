/*
 * accept.h - which hosts, links, NICs and GPUs are sick: stages on a fleet that outlives them.
 *
 * Rank 0 goes through the stages. Each runs small jobs on the hosts that are left (controlplane/agents/coordinator.h),
 * and adds what it finds. Results are handed out after each stage, so that they survive rank 0.
 */
#ifndef CCTEST_ACCEPT_ACCEPT_H
#define CCTEST_ACCEPT_ACCEPT_H

#include "accept/acceptance.h"

struct accept_arguments {
    const struct job *job;
    const struct accept_options *asked;
    const char *options; /* of every small job, but --transport, each behind a blank */
    struct agent_config agents;
    struct accept_report *report; /* rank 0 */
};

/* Runs an agent, or as rank 0 all stages; a rank_main whose argument is a struct accept_arguments.
 */
enum status accept_run(const struct membership *membership, void *arguments);

#endif
