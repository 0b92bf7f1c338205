/*
 * grants.h - how many slots, offers and segments a receiver grants on each lane.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_GRANTS_H
#define CCTEST_TRANSPORTS_VERBS_GRANTS_H

#include "transports/verbs/verbs.h"

/* Sets endpoint->grants for `lanes` lanes to each of `peers` peers: as much as is fast, within this
 * rank's share of the host's memory for slots and of the NIC's receives. --slots and --slot-size
 * prevail. */
void verbs_grants_choose(struct verbs_endpoint *endpoint, int peers, int lanes);

/* Receives that path number `path` of a lane may take at a time. */
uint32_t verbs_grants_receives(const struct verbs_grants *grants, int path);

/* May a peer grant this? */
bool verbs_grants_valid(const struct verbs_grants *grants);

#endif
