/*
 * setup.h - prepares a rank to run the sweep: binds it, allocates its buffers, connects it.
 */
#ifndef CCTEST_RUN_SESSION_SETUP_H
#define CCTEST_RUN_SESSION_SETUP_H

#include "run/session/session_internal.h"

/* Called by all ranks together after they have joined. */
enum status session_set_up(struct session *session);

#endif
