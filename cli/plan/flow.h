/*
 * flow.h - the messages of all ranks' schedules, and their contents.
 */
#ifndef CCTEST_CLI_PLAN_FLOW_H
#define CCTEST_CLI_PLAN_FLOW_H

#include "base/status.h"
#include "cli/plan/picture.h"

/* `schedules[r]` is rank r's, all of `problem`; they must outlive the flow. STATUS_USAGE: too
 * much for a picture; STATUS_ERROR: the messages of sends and receives do not match. */
enum status flow_trace(const struct schedule *const *schedules, const struct problem *problem,
                       struct flow *flow);
/* Keeps only the messages that `rank` sends or receives. */
void flow_keep(struct flow *flow, int rank);
void flow_free(struct flow *flow);

#endif
