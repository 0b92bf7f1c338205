/*
 * svg.h - draws all ranks' schedules as one SVG file.
 */
#ifndef CCTEST_CLI_PLAN_SVG_H
#define CCTEST_CLI_PLAN_SVG_H

#include "base/status.h"
#include "schedule/schedule.h"

/* Draws all ranks' schedules into one SVG file (output_put). `rank`: -1, or the only one whose
 * messages are drawn. `title` and `summary` stand above the picture. STATUS_USAGE if that is more
 * than a picture can show. */
enum status plan_draw(const struct schedule *const *schedules, const struct problem *problem,
                      int rank, const char *title, const char *summary, const char *path);

#endif
