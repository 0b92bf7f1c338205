/*
 * stages.h - the value of --stages: a list of stages of `cctest accept`.
 */
#ifndef CCTEST_CLI_OPTIONS_STAGES_H
#define CCTEST_CLI_OPTIONS_STAGES_H

#include "cli/options/option.h"

extern const struct option_kind kind_stages;

#endif
