/*
 * sample_rows.h - the raw samples of a line, on request.
 *
 * They come to rank 0 in parts, each of all ranks' next iterations, so that rank 0 holds a bounded
 * part of them at a time.
 */
#ifndef CCTEST_RUN_RESULTS_SAMPLE_ROWS_H
#define CCTEST_RUN_RESULTS_SAMPLE_ROWS_H

#include "controlplane/control/control.h"
#include "run/results/rank_result.h"
#include "run/results/report.h"

/* Bytes that sample_rows_report() takes at rank 0. */
size_t sample_rows_bytes(const struct job *job, int ranks);

/* Hands all samples of a line to report->samples(), part by part. All ranks call it together, each
 * with its own part of the line; `report` is rank 0's, else NULL. Errors: as control_exchange(). */
enum status sample_rows_report(struct control *control, const struct job *job,
                               const struct rank_result *rank_result, struct report *report);

#endif
