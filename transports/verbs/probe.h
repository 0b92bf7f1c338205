/*
 * probe.h - whether a NIC has what the transport needs: queue pairs of the kind RC, with a shared
 * receive queue.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_PROBE_H
#define CCTEST_TRANSPORTS_VERBS_PROBE_H

#include "transports/verbs/verbs.h"

/* Creates and destroys one of each on an open rail. False: the NIC cannot serve, for `reason`
 * (TRANSPORT_REASON_MOST bytes). */
bool verbs_rail_probe(const struct verbs_rail *rail, char *reason);

#endif
