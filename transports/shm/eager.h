/*
 * eager.h - short messages, each whole in one cell.
 */
#ifndef CCTEST_TRANSPORTS_SHM_EAGER_H
#define CCTEST_TRANSPORTS_SHM_EAGER_H

#include "transports/shm/shm.h"

/* transport->eager_most and transport->eager_move. */
size_t shm_eager_most(const struct channel *base);
enum status shm_eager_move(struct channel *base, const struct transfer *transfer, bool *moved);

#endif
