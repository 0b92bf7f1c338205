/*
 * connect.h - makes the channels between this rank and its peers.
 */
#ifndef CCTEST_TRANSPORTS_SHM_CONNECT_H
#define CCTEST_TRANSPORTS_SHM_CONNECT_H

#include "transports/shm/shm.h"

/* transport->connect. */
enum status shm_connect(struct endpoint *base, const int *peers, int count, int lanes);

/* Frees the channels to and from the peer. Nothing may use them any more. */
void shm_disconnect(struct shm_peer *peer);

#endif
