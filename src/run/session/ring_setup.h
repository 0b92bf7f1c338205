/*
 * ring_setup.h - the rings that a rank's links need, where they do not reach its buffers.
 */
#ifndef CCTEST_RUN_SESSION_RING_SETUP_H
#define CCTEST_RUN_SESSION_RING_SETUP_H

#include "run/session/session_internal.h"

/* Before the links open: fills in *region with the most that the rings will take, without an
 * address. Returns how many regions that is: 0 where a CPU reads the buffers. */
int session_plan_rings(struct session *session, struct region *region);

/* When each peer's transport is chosen, and before the links connect: allocates the rings, for the
 * links that need them. All ranks call it together. Errors: the ranks of this host ask for more
 * than it has, or those of allocate() and pin(). */
enum status session_open_rings(struct session *session);

#endif
