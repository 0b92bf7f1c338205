/*
 * plan.h - how one rank's schedule is shown: to people, and as JSON.
 */
#ifndef CCTEST_CLI_PLAN_PLAN_H
#define CCTEST_CLI_PLAN_PLAN_H

#include <jansson.h>
#include <stdio.h>

#include "base/status.h"
#include "schedule/schedule.h"

/* One line an operation, grouped by steps; with `waits`, also what each operation waits for. */
void plan_print(const struct schedule *schedule, bool waits);

/* "source[0..2), scratch[3..4)" */
void plan_print_message(FILE *out, struct message message);

json_t *plan_json(const struct schedule *schedule);

/* Messages and elements that this rank sends. */
void plan_totals(const struct schedule *schedule, size_t *messages, size_t *elements);

/* More of either cannot be read any more. */
#define PICTURE_RANKS_MOST    64
#define PICTURE_MESSAGES_MOST 10000

/* Draws all ranks' schedules into one SVG file (output_put). `rank`: -1, or the only one whose
 * messages are drawn. `title` and `summary` stand above the picture. STATUS_USAGE if that is more
 * than a picture can show. */
enum status plan_draw(const struct schedule *const *schedules, const struct problem *problem,
                      int rank, const char *title, const char *summary, const char *path);

#endif
