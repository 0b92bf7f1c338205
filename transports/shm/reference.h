/*
 * reference.h - which bytes of a message go by reference, and so its path.
 */
#ifndef CCTEST_TRANSPORTS_SHM_REFERENCE_H
#define CCTEST_TRANSPORTS_SHM_REFERENCE_H

#include "transports/shm/shm.h"

/* Of the next `most` bytes of a transfer, the number to which a cell refers; 0: it holds bytes
 * itself. */
size_t shm_refer(const struct shm_channel *channel, const struct transfer *transfer, size_t most,
                 struct shm_reference *reference);

/* As the hook of struct transport. */
enum path shm_path_of(const struct path_query *query);

#endif
