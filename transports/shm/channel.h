/*
 * channel.h - the data path of shared memory.
 */
#ifndef CCTEST_TRANSPORTS_SHM_CHANNEL_H
#define CCTEST_TRANSPORTS_SHM_CHANNEL_H

#include "transports/shm/shm.h"

enum status shm_channel_progress(struct shm_channel *channel);
/* Nothing is posted and nothing is out. */
bool shm_channel_is_idle(const struct shm_channel *channel);

/* Is there a free cell to be sent? */
bool shm_has_room(struct shm_channel *channel, enum shm_ring_kind kind);

/* Copies bytes into a slot. Between cores without a common cache they go through memory: fetching
 * each line out of the other's cache takes several times as long. */
void shm_gather(const struct shm_channel *channel, struct cursor *from, char *slot, size_t bytes);

#endif
