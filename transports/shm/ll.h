/*
 * ll.h - the ring of --copy ll, whose words each carry their own flag.
 */
#ifndef CCTEST_TRANSPORTS_SHM_LL_H
#define CCTEST_TRANSPORTS_SHM_LL_H

#include "transports/shm/shm.h"

/* Sets the next epoch (2 or more; 0: the first) of an idle ring. Both ends must do so. */
void shm_ll_reset(struct shm_ring *ring, uint32_t epoch);
/* Goes to the next region if a message of `length` bytes begins and does not fit into this one. May
 * be called again before the message has begun. */
void shm_ll_begin(struct shm_ring *ring, size_t length, bool sends);
/* How many bytes shm_ll_put() takes now, of `left` that the message has left, of which `allowed`
 * may be sent. */
size_t shm_ll_room(const struct shm_ring *ring, size_t left, size_t allowed);
/* Sends that many; the ring must have room. `ends`: they are the last of the message. */
void shm_ll_put(struct shm_ring *ring, struct cursor *from, size_t bytes, bool ends);
/* How many of the next `most` bytes of a message have arrived in this region. */
size_t shm_ll_arrived(const struct shm_ring *ring, size_t most);
/* Has all of a message arrived, which lies in this region? Reads the last word first, since to read
 * a line that is being written takes it away from the writer. */
bool shm_ll_is_complete(const struct shm_ring *ring, size_t bytes);
/* Places or combines that many bytes (whole elements). Returns how many were copied before. */
size_t shm_ll_take(struct shm_ring *ring, const struct transfer *transfer, struct cursor *to,
                   struct cursor *with, size_t bytes, bool ends);

#endif
