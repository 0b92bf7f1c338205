/*
 * group_results.h - the times of each group of a line, and which group is the slowest.
 */
#ifndef CCTEST_MEASURE_GROUP_RESULTS_H
#define CCTEST_MEASURE_GROUP_RESULTS_H

#include "measure/line.h"
#include "measure/report.h"

/* Sets result->groups and what follows from them: the slowest and its timing, the median, the fastest,
 * and the wrong elements of all. result->bytes is known. */
enum status group_results_make(struct result *result, const struct line *line);

#endif
