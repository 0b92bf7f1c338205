/*
 * plan.h - how one rank's schedule is shown: to people, and as JSON.
 */
#ifndef CCTEST_CLI_PLAN_H
#define CCTEST_CLI_PLAN_H

#include <jansson.h>

#include "schedule.h"

/* One line an operation, grouped by steps; with `waits`, also what each operation waits for. */
void plan_print(const struct schedule *schedule, bool waits);

json_t *plan_json(const struct schedule *schedule);

/* Messages and elements that this rank sends. */
void plan_totals(const struct schedule *schedule, size_t *messages, size_t *elements);

#endif
