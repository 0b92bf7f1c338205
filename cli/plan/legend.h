/*
 * legend.h - notes and legend below a plan's picture.
 */
#ifndef CCTEST_CLI_PLAN_LEGEND_H
#define CCTEST_CLI_PLAN_LEGEND_H

#include "cli/plan/picture.h"

/* Notes and legend, from `y` on. Returns where it ends. */
double legend_draw(const struct drawing *d, double y);

#endif
