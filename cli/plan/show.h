/*
 * show.h - one rank's schedule as text and as JSON.
 */
#ifndef CCTEST_CLI_PLAN_SHOW_H
#define CCTEST_CLI_PLAN_SHOW_H

#include <jansson.h>
#include <stdio.h>

#include "schedule/schedule.h"

/* One line an operation, grouped by steps; with `waits`, also what each operation waits for. */
void plan_print(const struct schedule *schedule, bool waits);

/* "source[0..2), scratch[3..4)" */
void plan_print_message(FILE *out, struct message message);

json_t *plan_json(const struct schedule *schedule);

#endif
