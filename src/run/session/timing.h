/*
 * timing.h - the untimed and the timed iterations of a test case.
 */
#ifndef CCTEST_RUN_SESSION_TIMING_H
#define CCTEST_RUN_SESSION_TIMING_H

#include "run/results/slowest.h"
#include "run/session/session_internal.h"

/* Runs the iterations that come before all others. */
enum status timing_warm_up(struct session *session, const struct test_case *test_case);

/* Runs the timed iterations. Under -n auto these are several batches, at the end of which the ranks
 * add their times to `slowest`, and rank 0 decides whether a further one follows. Within a batch
 * iterations run as they do under a fixed -n. After an exchange, caches are cold and cores may have
 * slept: a further batch begins with a warm-up too, and the barrier after it. */
enum status timing_run(struct session *session, struct test_case *test_case,
                       struct rank_result *rank_result, struct slowest *slowest);

#endif
