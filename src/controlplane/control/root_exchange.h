/*
 * root_exchange.h - exchanges between all ranks, through rank 0.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_ROOT_EXCHANGE_H
#define CCTEST_CONTROLPLANE_CONTROL_ROOT_EXCHANGE_H

#include "controlplane/control/root_state.h"

/* Takes a rank's share, and sends the result when it was the last; false: it is malformed. */
bool root_take_share(struct root *root, int rank, const unsigned char *data, size_t size);

/* The same for a part of EXCHANGE_MAXIMUM, of some ranks, which `rank` sends. */
bool root_take_maxima(struct root *root, int rank, const unsigned char *data, size_t size);

#endif
