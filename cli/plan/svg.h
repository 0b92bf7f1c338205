/*
 * svg.h - draws all ranks' schedules as one SVG file.
 */
#ifndef CCTEST_CLI_PLAN_SVG_H
#define CCTEST_CLI_PLAN_SVG_H

#include "base/status.h"
#include "collective/schedule/schedule.h"

/* Draws all ranks' schedules into one SVG file (output_put). `rank`: the only rank whose
 * messages are drawn, or -1. `title` and `summary` are printed above the picture. STATUS_USAGE if
 * the plan is too large for a picture. */
enum status plan_draw(const struct schedule *const *schedules, const struct problem *problem,
                      int rank, const char *title, const char *summary, const char *path);

#endif
