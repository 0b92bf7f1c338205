/*
 * goal.h - schedules in GOAL, the text format of the simulator LogGOPSim.
 *
 * Source of the format: src/LogGOPSim/txt2bin.re of github.com/spcl/LogGOPSim; T. Hoefler,
 * C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", 2009.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_GOAL_H
#define CCTEST_COLLECTIVE_FORMATS_GOAL_H

#include <stdio.h>

#include "base/status.h"
#include "collective/schedule/schedule.h"

/* What is before the ranks. */
void goal_begin(FILE *out, const char *title, int ranks);

/* One rank. `element`: bytes of an element. `calc`: nanoseconds a byte of a local operation, and of
 * what a received message is combined with. STATUS_ERROR if memory ran out. */
enum status goal_rank(FILE *out, const struct schedule *schedule, size_t element, double calc);

#endif
