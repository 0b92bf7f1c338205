/*
 * peer.h - another rank of this node: whether it is reachable and alive.
 */
#ifndef CCTEST_TRANSPORTS_SHM_PEER_H
#define CCTEST_TRANSPORTS_SHM_PEER_H

#include "transports/shm/shm.h"

/* Fills in the endpoint's address. */
void shm_address_fill(struct shm_endpoint *endpoint);
const char *shm_peer_attach(struct shm_endpoint *endpoint, int rank,
                            const struct shm_address *address, struct shm_peer **peer);
/* Maps the shared regions of the peer. */
enum status shm_peer_map_regions(struct shm_peer *peer);
/* STATUS_OK, or a failure that names the peer, if it is gone. */
enum status shm_peer_lost(const struct shm_peer *peer);
bool shm_peer_is_gone(const struct shm_peer *peer);
void shm_peer_drop(struct shm_peer *peer);

#endif
