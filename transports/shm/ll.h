/*
 * ll.h - the ring of --copy ll, whose words each carry their own flag.
 */
#ifndef CCTEST_TRANSPORTS_SHM_LL_H
#define CCTEST_TRANSPORTS_SHM_LL_H

#include "transports/shm/shm.h"

/* Makes `epoch`, from 2 on, the next of a ring that is idle, at both ends; 0: the first of all. */
void shm_ll_reset(struct shm_ring *ring, uint32_t epoch);
/* A message of so many bytes is to begin: finds its place. Does nothing where that is found. */
void shm_ll_begin(struct shm_ring *ring, size_t length, bool sends);
/* How many bytes may be put now, of `left` that the message has left and `allowed` of these. */
size_t shm_ll_room(const struct shm_ring *ring, size_t left, size_t allowed);
/* Sends as many, where a cell is free. `ends`: the message ends with them. */
void shm_ll_put(struct shm_ring *ring, struct cursor *from, size_t bytes, bool ends);
/* How many of the next `most` bytes of a message have come, in this region. */
size_t shm_ll_came(const struct shm_ring *ring, size_t most);
/* Has a whole message of so many bytes, which lies in this region? It looks at the last word first:
 * who looks at a cache line that is being written takes it away from the writer. */
bool shm_ll_have_come(const struct shm_ring *ring, size_t bytes);
/* Places, or combines, as many; whole elements. Returns how many of them were copied first. */
size_t shm_ll_take(struct shm_ring *ring, const struct transfer *transfer, struct cursor *to,
                   struct cursor *with, size_t bytes, bool ends);

#endif
