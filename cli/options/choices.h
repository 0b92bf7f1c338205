/*
 * choices.h - option values that are algorithms with their own options, counts, or groups.
 */
#ifndef CCTEST_CLI_OPTIONS_CHOICES_H
#define CCTEST_CLI_OPTIONS_CHOICES_H

#include "cli/options/option.h"

extern const struct option_kind kind_algorithm, kind_counts, kind_shape, kind_split;

/* Adds "auto", which picks an algorithm for each size once the ranks are known. */
enum status choices_default(struct request *request);

#endif
