/*
 * peer.h - the queue pairs to a peer.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_PEER_H
#define CCTEST_TRANSPORTS_VERBS_PEER_H

#include "transports/verbs/verbs.h"

/* The queue pair behind `pair`, in the order of lanes and paths; of NULL: the first. NULL: there is
 * none. */
static inline struct verbs_pair *verbs_peer_next(const struct verbs_peer *peer,
                                                 const struct verbs_pair *pair)
{
    int lane = pair ? pair->lane->number : 0, path = pair ? pair->path + 1 : 0;
    while (lane < peer->lane_count && path >= peer->lanes[lane]->pair_count) {
        lane++;
        path = 0;
    }
    return lane < peer->lane_count ? &peer->lanes[lane]->pairs[path] : NULL;
}

#endif
