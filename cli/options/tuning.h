/*
 * tuning.h - option values about tuning: what was measured before, and numbers of ranks.
 */
#ifndef CCTEST_CLI_OPTIONS_TUNING_H
#define CCTEST_CLI_OPTIONS_TUNING_H

#include "cli/options/option.h"

extern const struct option_kind kind_tuning, kind_rank_counts;

#endif
