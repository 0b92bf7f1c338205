/*
 * registration.h - the memory that NICs reach: registers it, and finds what was registered.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_REGISTRATION_H
#define CCTEST_TRANSPORTS_VERBS_REGISTRATION_H

#include "transports/verbs/verbs.h"

/* Does the driver of the NIC import dmabufs? Leaves nothing behind. */
bool verbs_imports_dmabuf(struct ibv_pd *pd);

/* Chooses how the rails, which are open, reach the regions that no CPU reads: endpoint->gdr. By the
 * option gdr, else the first way that works for all rails and all kinds of memory.
 * STATUS_UNAVAILABLE: the rank lacks what the option asks for: `reason` (TRANSPORT_REASON_MOST
 * bytes). */
enum status verbs_gdr_choose(struct verbs_endpoint *endpoint, char *reason);

bool verbs_reaches(const struct endpoint *base, const struct memory_kind *kind, char *reason);

/* Has this rank memory that no CPU reads and its NICs reach? */
static inline bool verbs_is_direct(const struct verbs_endpoint *endpoint)
{
    return endpoint->gdr == VERBS_GDR_DMABUF || endpoint->gdr == VERBS_GDR_PEERMEM;
}

/* Registers the endpoint's regions on all rails, once, unless --copy bcopy needs none. */
enum status verbs_regions_register(struct verbs_endpoint *endpoint);
void verbs_regions_deregister(struct verbs_rail *rail);

/* Registers [address, address + bytes) of host memory. NULL: it failed; the failure is recorded. */
struct ibv_mr *verbs_register(struct verbs_rail *rail, void *address, size_t bytes, int access);
/* For writes of peers that this rank polls, so without relaxed ordering. */
struct ibv_mr *verbs_register_polled(struct verbs_rail *rail, void *address, size_t bytes);

/* The registered region of this rank that holds `address`; NULL: none. */
const struct ibv_mr *verbs_region_find(const struct verbs_rail *rail, const void *address);

/* Fails if nobody can move the transfer: it lies in memory that no CPU reads, and it goes through
 * slots, or the NICs do not reach that memory. Looks at it when it begins. */
enum status verbs_unreached_fail(const struct channel *channel, const struct transfer *transfer);
static inline enum status verbs_require_reach(const struct channel *channel,
                                              const struct transfer *transfer, bool by_slots)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)channel->endpoint;
    if (endpoint->gdr == VERBS_GDR_AUTO || transfer->issued > 0 ||
        (verbs_is_direct(endpoint) && !by_slots))
        return STATUS_OK;
    return verbs_unreached_fail(channel, transfer);
}

/* Makes the segments of the transfer that have arrived visible: once for all that came together. */
enum status verbs_flush(struct endpoint *base, const struct transfer *transfer);

#endif
