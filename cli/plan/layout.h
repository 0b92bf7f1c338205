/*
 * layout.h - places ranks, rounds, messages and marks in a plan's picture.
 */
#ifndef CCTEST_CLI_PLAN_LAYOUT_H
#define CCTEST_CLI_PLAN_LAYOUT_H

#include "base/status.h"
#include "cli/plan/picture.h"

/* Places everything, and the ends of all flights; `rank`: the only one of interest, or -1. The
 * flow owns the memory. */
enum status picture_place(struct flow *flow, int rank, struct picture *picture);

#endif
