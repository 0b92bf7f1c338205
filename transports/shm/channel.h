/*
 * channel.h - the data path of shared memory.
 */
#ifndef CCTEST_TRANSPORTS_SHM_CHANNEL_H
#define CCTEST_TRANSPORTS_SHM_CHANNEL_H

#include "transports/shm/shm.h"

/* Moves what its transfers can move now, up to one turn; none need be posted. */
enum status shm_channel_progress(struct shm_channel *channel);
/* No transfer is posted and none is outstanding. */
bool shm_channel_is_idle(const struct shm_channel *channel);

/* *room: is a cell free to be sent? Fails if the receiver's credit cannot be. */
enum status shm_find_room(struct shm_channel *channel, enum shm_ring_kind kind, bool *room);

/* Copies bytes into a slot: past the cache if the peer is far, because to fetch each line out of
 * the other core's cache would take several times as long. */
void shm_gather(const struct shm_channel *channel, struct cursor *from, char *slot, size_t bytes);

#endif
