/*
 * bottleneck_report.h - rank 0's view of the time of a line: what each rank saw, and the
 * bottleneck.
 */
#ifndef CCTEST_RUN_RESULTS_BOTTLENECK_REPORT_H
#define CCTEST_RUN_RESULTS_BOTTLENECK_REPORT_H

#include "run/results/rank_summary.h"
#include "run/results/report.h"
#include "base/rank_state.h"

/* Fills in result->bottleneck, its text, and result->samples, which point into the summaries.
 * result->late_rank is known. `duration`: p50 of an iteration; `time`: of all of them together;
 * ns. */
enum status bottleneck_report(struct result *result, const struct member *members,
                              const struct rank_summaries *summaries, uint64_t duration,
                              uint64_t time);
void bottleneck_report_free(struct result *result);

#endif
