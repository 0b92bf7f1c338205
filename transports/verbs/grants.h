/*
 * grants.h - how many slots, offers and segments a receiver grants on each lane.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_GRANTS_H
#define CCTEST_TRANSPORTS_VERBS_GRANTS_H

#include "transports/verbs/verbs.h"

/* Chooses grants for `lanes` lanes to each of `peers` peers: as much as is fast, within this rank's
 * share of the host's memory for slots and of the NIC's receives. --slots and --slot-size prevail. */
void verbs_grants_choose(const struct transport_config *config, int peers, int lanes,
                         struct verbs_grants *grants);

/* Receives that path number `path` of a lane may take at a time. */
uint32_t verbs_grants_receives(const struct verbs_grants *grants, int path);

/* May a peer grant this? */
bool verbs_grants_valid(const struct verbs_grants *grants);

#endif
