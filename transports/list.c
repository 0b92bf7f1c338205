/*
 * list.c - all transports, in the order in which `-x auto` prefers them.
 *
 * A new transport is a folder here and a line in this list (and its name in transports.h).
 */
#include "transports/transports.h"

const struct transport *const transports[] = {
    &transport_cuda, &transport_shm, &transport_verbs, &transport_tcp, NULL,
};
