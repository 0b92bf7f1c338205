/*
 * peer.h - another rank of this host: whether its memory can be mapped, and the mappings.
 */
#ifndef CCTEST_TRANSPORTS_CUDA_PEER_H
#define CCTEST_TRANSPORTS_CUDA_PEER_H

#include "transports/cuda/cuda.h"

/* Lends the regions, and fills in the endpoint's address. */
enum status pull_address_fill(struct pull_endpoint *endpoint);

/* As transport.attach(): makes a peer, with its first region mapped. */
const char *pull_peer_attach(struct pull_endpoint *endpoint, int rank,
                             const struct pull_address *address, struct pull_peer **attached);

/* Maps the regions that are not mapped. */
enum status pull_peer_map(struct pull_endpoint *endpoint, struct pull_peer *peer,
                          const struct memory_handle *regions);

/* Checks what a cell of the peer says, and finds the bytes. False: it is outside of the regions. */
bool pull_peer_find(const struct pull_peer *peer, const struct pull_cell *cell,
                    struct piece *piece);

/* Frees the peer. `unmaps`: nothing reads its regions any more; else they stay mapped until the
 * process ends. NULL is allowed. */
void pull_peer_drop(struct pull_endpoint *endpoint, struct pull_peer *peer, bool unmaps);

#endif
