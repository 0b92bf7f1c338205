/*
 * grants.h - how many slots, offers and segments a receiver grants on each lane.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_GRANTS_H
#define CCTEST_TRANSPORTS_VERBS_GRANTS_H

#include "transports/verbs/verbs.h"

/* New queue pairs of a rail, and how many of them are the first of their lane: these take slots and
 * offers, too. */
struct verbs_demand {
    uint32_t pairs, firsts;
};

/* For `lanes` new lanes, with these demands by rail: as much as is fast, within what is left of this
 * rank's share of the host's memory for slots, within `memory` bytes (verbs_memory_share()), and
 * within the receives that its NICs have left.
 * --slots (rounded down to a power of two) and --slot-size prevail. */
struct verbs_grants verbs_grants_choose(const struct verbs_endpoint *endpoint, size_t lanes,
                                        const struct verbs_demand *demands, size_t memory);

#define VERBS_MEMORY_PART 4 /* of what is available, for the slots of all ranks here */

/* Bytes of slots that fit into this rank's part of the memory that is available now. */
size_t verbs_memory_share(const struct verbs_endpoint *endpoint);

/* Receives that they may take at a time. */
size_t verbs_grants_receives(const struct verbs_grants *grants, const struct verbs_demand *demand);

/* May a peer grant this? */
bool verbs_grants_valid(const struct verbs_grants *grants);

#endif
