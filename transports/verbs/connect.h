/*
 * connect.h - makes the lanes between this rank and its peers.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_CONNECT_H
#define CCTEST_TRANSPORTS_VERBS_CONNECT_H

#include "transports/verbs/verbs.h"

/* transport->connect; calls config.exchange twice. */
enum status verbs_connect(struct endpoint *base, const int *peers, int count, int lanes);

/* Destroys the queue pairs of a peer and frees its lanes. */
void verbs_disconnect(struct verbs_peer *peer);

#endif
