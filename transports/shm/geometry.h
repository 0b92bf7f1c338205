/*
 * geometry.h - the sizes of the rings of a channel.
 */
#ifndef CCTEST_TRANSPORTS_SHM_GEOMETRY_H
#define CCTEST_TRANSPORTS_SHM_GEOMETRY_H

#include "transports/shm/shm.h"

/* The sizes that the user set, and for the others as much as `channels` of them may have in `room`
 * bytes. Fails if the host has too little memory for them. */
enum status shm_geometry_choose(const struct transport_config *config, size_t channels, size_t room,
                                struct shm_geometry *geometry);

/* Bytes that a cell of a ring holds, and bytes from cell to cell. */
size_t shm_payload(enum shm_ring_kind kind, const struct shm_geometry *geometry);
size_t shm_cell_stride(enum shm_ring_kind kind, const struct shm_geometry *geometry);

size_t shm_geometry_bytes(const struct shm_geometry *geometry); /* of one channel */
size_t shm_block_bytes(const struct shm_geometry *geometry, int lanes);

/* Is what a peer offers possible under this policy, and in a segment of so many bytes? */
bool shm_offer_fits(const struct shm_offer *offer, enum copy_policy copy, uint64_t segment_bytes);

#endif
