/*
 * tuning.h - option values about tuning: what was measured before, and numbers of ranks.
 */
#ifndef CCTEST_CLI_OPTIONS_TUNING_H
#define CCTEST_CLI_OPTIONS_TUNING_H

#include "cli/options/option.h"

extern const struct option_kind kind_tuning, kind_rank_counts;

/* Says how this job differs from what the measurements of --tuning hold for: another machine, memory,
 * transports or type. The job goes on. */
void tuning_warn(const struct request *request);

#endif
