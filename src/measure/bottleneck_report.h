/*
 * bottleneck_report.h - rank 0's view of a line: what each rank saw, and who is to blame for its time.
 */
#ifndef CCTEST_MEASURE_BOTTLENECK_REPORT_H
#define CCTEST_MEASURE_BOTTLENECK_REPORT_H

#include "control/blobs.h"
#include "measure/results.h"
#include "verdict/rank_state.h"

/* Fills in result->culprit, accusation and samples. `tallies`: a struct rank_result_wire of each rank;
 * `duration`: p50 of an iteration, `time`: of all of them together, ns. */
enum status bottleneck_report(struct result *result, const struct member *members,
                              const struct blobs *rank_results, uint64_t duration, uint64_t time);
void bottleneck_report_free(struct result *result);

#endif
