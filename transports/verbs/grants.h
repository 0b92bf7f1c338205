/*
 * grants.h - how many slots, offers and segments a receiver grants on each lane.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_GRANTS_H
#define CCTEST_TRANSPORTS_VERBS_GRANTS_H

#include "transports/verbs/verbs.h"

/* For `lanes` new lanes: as much as is fast, within this rank's share of the host's memory for slots
 * and within the receives that its NICs have left. --slots and --slot-size prevail. */
struct verbs_grants verbs_grants_choose(const struct verbs_endpoint *endpoint, size_t lanes);

/* Receives that path number `path` of a lane may take at a time. */
uint32_t verbs_grants_receives(const struct verbs_grants *grants, int path);

/* May a peer grant this? */
bool verbs_grants_valid(const struct verbs_grants *grants);

#endif
