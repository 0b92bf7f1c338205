/*
 * device_setup.h - whether the devices of the ranks run their schedules (dataplane/execute/device_group.h).
 */
#ifndef CCTEST_RUN_SESSION_DEVICE_SETUP_H
#define CCTEST_RUN_SESSION_DEVICE_SETUP_H

#include "run/test_case.h"
#include "run/session/session_internal.h"

/* Bytes of the buffers' memory that this rank takes beside its buffers, for wires, if a device may
 * run schedules. */
size_t session_wire_bytes(const struct session *session);

/* Opens this rank's device for that, if it may. `has_room`: there is memory for wires. */
enum status session_open_devices(struct session *session, bool has_room);

/* Called by all ranks together, when they are connected: concludes whether their devices may run
 * schedules. Fails if the user insists, and none may. */
enum status session_settle_devices(struct session *session);

/* Called by all ranks together, before the first line that devices run, and before one with more
 * channels than any before it: runs it once, and finds whether the kernels of all ranks run at the
 * same time, which CUDA does not promise. If not, the host runs this line and all that follow. */
enum status session_try_devices(struct session *session, struct test_case *test_case);

#endif
