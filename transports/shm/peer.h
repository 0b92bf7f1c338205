/*
 * peer.h - another rank of this node: whether it is reachable and alive.
 */
#ifndef CCTEST_TRANSPORTS_SHM_PEER_H
#define CCTEST_TRANSPORTS_SHM_PEER_H

#include "transports/shm/shm.h"

/* Fills in the endpoint's address. */
void shm_address_fill(struct shm_endpoint *endpoint);
/* Makes *peer if `rank`, at `address`, can be reached. Returns NULL, or the reason why not: static,
 * or in endpoint->reason. */
const char *shm_peer_attach(struct shm_endpoint *endpoint, int rank,
                            const struct shm_address *address, struct shm_peer **peer);
/* Maps the regions of the peer that lie in shared memory. Does nothing the second time. */
enum status shm_peer_map_regions(struct shm_peer *peer);
/* Checks a reference that the peer has written, and finds the bytes. *remote: they lie in the
 * peer's address space, not in this one. False: it leads outside of the peer's regions. */
bool shm_peer_find(const struct shm_peer *peer, const struct shm_reference *reference,
                   struct piece *piece, bool *remote);
/* Fails, and names the peer, if it has died or left the job. */
enum status shm_peer_check(const struct shm_peer *peer);
/* Fails: the peer has died, or its header's `closed` had this value, not SHM_OPEN. */
enum status shm_fail_gone(const struct shm_peer *peer, uint32_t closed);
void shm_peer_drop(struct shm_peer *peer);

#endif
