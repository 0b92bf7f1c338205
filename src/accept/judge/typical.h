/*
 * typical.h - what all of some hosts have, as lines of a profile (profile.h).
 */
#ifndef CCTEST_ACCEPT_JUDGE_TYPICAL_H
#define CCTEST_ACCEPT_JUDGE_TYPICAL_H

#include <stdio.h>

#include "accept/judge/compare.h"

/* Puts a line for each fact that is compared and that all hosts have: KEY = VALUE where all are
 * alike, KEY >= VALUE, the least, where more is better. Nothing
 * is asked where they have none, or a module is not loaded. Each of these hosts meets each line, with the
 * tolerance of its rule. False: out of memory. */
bool inventory_typical_put(const struct inventory_host *hosts, int count, FILE *out);

#endif
