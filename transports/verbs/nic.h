/*
 * nic.h - which NIC ports a rank uses.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_NIC_H
#define CCTEST_TRANSPORTS_VERBS_NIC_H

#include "transports/verbs/verbs.h"

/* Opens the ports that the option nic names, or the nearest one that is usable; ranks of a host
 * share equally near ones. STATUS_UNAVAILABLE: `reason` says why (TRANSPORT_REASON_MOST bytes). */
enum status verbs_nics_open(struct verbs_endpoint *endpoint, char *reason);

#endif
