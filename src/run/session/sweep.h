/*
 * sweep.h - runs all sizes and algorithms of the job: warm up, check, time, gather.
 */
#ifndef CCTEST_RUN_SESSION_SWEEP_H
#define CCTEST_RUN_SESSION_SWEEP_H

#include "run/session/session_internal.h"

/* Called by all ranks together after session_set_up(). */
enum status session_sweep(struct session *session);

#endif
