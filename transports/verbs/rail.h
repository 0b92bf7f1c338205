/*
 * rail.h - the NIC ports that a rank uses, and the queues that it creates on each.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_RAIL_H
#define CCTEST_TRANSPORTS_VERBS_RAIL_H

#include "transports/verbs/verbs.h"

/* Opens a port. False: it cannot be used, for `reason` (TRANSPORT_REASON_MOST bytes); the rail is to
 * be closed even so. */
bool verbs_rail_open(struct verbs_rail *rail, struct verbs_endpoint *endpoint,
                     const struct verbs_nic *nic, char *reason);

/* Makes the queues of completions and receives, if they do not exist, and posts `receives` more
 * receives, for queue pairs of `sends` more requests together. */
enum status verbs_rail_prepare(struct verbs_rail *rail, uint32_t receives, uint32_t sends);

/* About the bytes of all its queues. */
size_t verbs_rail_queue_bytes(const struct verbs_rail *rail);

/* Frees everything but what a thread that hangs in the driver still uses; its queue pairs are
 * destroyed. */
void verbs_rail_close(struct verbs_rail *rail);

#endif
