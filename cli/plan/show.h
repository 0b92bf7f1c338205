/*
 * show.h - a plan as text and as JSON, schedule by schedule.
 */
#ifndef CCTEST_CLI_PLAN_SHOW_H
#define CCTEST_CLI_PLAN_SHOW_H

#include <jansson.h>
#include <stdio.h>

#include "dataplane/memory/datatype.h"
#include "collective/schedule/algorithm.h"

/* One line an operation, grouped by steps; with `waits`, also what each operation waits for. */
void plan_print(const struct schedule *schedule, bool waits);

/* "source[0..2), scratch[3..4)" */
void plan_print_message(FILE *out, struct message message);

json_t *plan_json(const struct schedule *schedule);

/* What a plan has beside them: its "schedules" are empty. */
json_t *plan_head_json(const struct choice *choice, const struct problem *problem,
                       const struct datatype *datatype, int channels);

#endif
