/*
 * transports.h - the transports by name, for transports/list.c alone.
 */
#ifndef CCTEST_TRANSPORTS_H
#define CCTEST_TRANSPORTS_H

#include "dataplane/transport/transport.h"

extern const struct transport transport_cuda, transport_shm, transport_tcp, transport_verbs;

#endif
