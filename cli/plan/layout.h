/*
 * layout.h - places ranks, rounds, messages and marks in a plan's picture.
 */
#ifndef CCTEST_CLI_PLAN_LAYOUT_H
#define CCTEST_CLI_PLAN_LAYOUT_H

#include "base/status.h"
#include "cli/plan/picture.h"

/* Places ranks, rounds, marks and the ends of all flights. `rank`: the only one shown, or -1. The
 * flow owns the memory. Fails if memory runs out. */
enum status picture_place(struct flow *flow, int rank, struct picture *picture);

#endif
