/*
 * inject.h - the value of --inject: faults that the tool inflicts on itself.
 */
#ifndef CCTEST_CLI_OPTIONS_INJECT_H
#define CCTEST_CLI_OPTIONS_INJECT_H

#include "cli/options/option.h"

extern const struct option_kind kind_inject;

/* The index-th fault, and its key besides "rank" ("us"); NULL: there are no more. */
const char *inject_fault(int index, const char **second);

#endif
