/*
 * step_times.h - when the steps of a line end on a rank: the median of its timed iterations.
 */
#ifndef CCTEST_RUN_RESULTS_STEP_TIMES_H
#define CCTEST_RUN_RESULTS_STEP_TIMES_H

#include "base/status.h"
#include "base/tick.h"
#include "dataplane/execute/step_clock.h"

#define STEP_TIMES_BYTES ((size_t)1 << 20) /* that are held at most: the first iterations count */

struct step_times; /* NULL: not asked for, in all calls below */

/* The clock has steps, and outlives it; it may be without, and then *made is NULL. On success the caller
 * calls step_times_free(). */
enum status step_times_create(const struct step_clock *clock, struct step_times **made);
void step_times_free(struct step_times *times);

/* An iteration has ended, which was released then (clock_ns()). */
void step_times_note(struct step_times *times, uint64_t released);

int step_times_count(const struct step_times *times);

/* From the release of an iteration to the end of the step: the median, us; 0: the rank has no part in
 * it. */
double step_times_median(struct step_times *times, int step, const struct tick *tick);

#endif
