/*
 * rail.h - the NIC ports that a rank uses, and what it registers and creates on each.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_RAIL_H
#define CCTEST_TRANSPORTS_VERBS_RAIL_H

#include "transports/verbs/verbs.h"

/* Opens a port. False: it cannot be used, for `reason` (TRANSPORT_REASON_MOST bytes); the rail is to
 * be closed even so. */
bool verbs_rail_open(struct verbs_rail *rail, struct verbs_endpoint *endpoint,
                     const struct verbs_nic *nic, char *reason);

/* Registers the endpoint's regions on all rails, once, unless --copy bcopy needs none. */
enum status verbs_rails_register(struct verbs_endpoint *endpoint);

/* Registers [address, address + bytes) for writes of peers that this rank polls, so without relaxed
 * ordering. NULL: it failed; the failure is recorded. */
struct ibv_mr *verbs_rail_register_polled(struct verbs_rail *rail, void *address, size_t bytes);

/* The registered region of this rank that holds `address`; NULL: none. */
const struct ibv_mr *verbs_rail_region(const struct verbs_rail *rail, const void *address);

/* Makes the queues of completions and receives, if they do not exist, and posts `receives` more
 * receives, for `queues` more queue pairs. */
enum status verbs_rail_prepare(struct verbs_rail *rail, uint32_t receives, uint32_t queues);

/* Frees everything; its queue pairs are destroyed. */
void verbs_rail_close(struct verbs_rail *rail);

#endif
