/*
 * group_results.h - the times of each group of a line, and which group is the slowest.
 */
#ifndef CCTEST_RUN_RESULTS_GROUP_RESULTS_H
#define CCTEST_RUN_RESULTS_GROUP_RESULTS_H

#include "run/results/line.h"
#include "run/results/report.h"

/* Of the times of all groups, which are known: sets which group is the slowest, and its name and timing,
 * the median, the fastest. `members`: of the job, by rank. Error: out of memory. */
enum status group_results_compare(struct result *result, const struct split_spec *spec,
                                  const struct split *split, const struct member *members);

/* Sets result->groups and what follows from them: the slowest and its timing, the median, the fastest,
 * and the wrong elements of all. result->bytes is known. */
enum status group_results_make(struct result *result, const struct line *line);

#endif
