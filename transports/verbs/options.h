/*
 * options.h - the options behind the transport's name, also of a cctest without libibverbs.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_OPTIONS_H
#define CCTEST_TRANSPORTS_VERBS_OPTIONS_H

#include "host/rdma_port.h"
#include "dataplane/transport/transport.h"
#include "transports/verbs/port.h"

#define VERBS_RAILS_MOST 8

/* By index in verbs_options[]. */
enum verbs_option {
    VERBS_NIC,
    VERBS_RAILS,
    VERBS_GID,
    VERBS_PKEY,
    VERBS_SL,
    VERBS_TCLASS,
    VERBS_MTU,
    VERBS_TIMEOUT,
    VERBS_RETRY,
    VERBS_QPS,
    VERBS_CONNECT,
    VERBS_POLL,
    VERBS_GDR,
    VERBS_OPTIONS
};
enum verbs_connecting { VERBS_CONNECT_EXCHANGE, VERBS_CONNECT_RDMACM };
enum verbs_poll { VERBS_POLL_MEMORY, VERBS_POLL_CQ };

extern const struct transport_option verbs_options[];

/* A name behind nic=. Port 0: all ports of the NIC. */
struct verbs_nic_name {
    char nic[RDMA_NIC_MOST];
    int port;
};

#define VERBS_MANY_NICS "nic= names more than %d NIC ports: name fewer" /* VERBS_RAILS_MOST */

/* Reads "NAME[:PORT]+...". Returns how many; 0: `reason` (TRANSPORT_REASON_MOST bytes) says what is
 * wrong: no name, no port number, a NIC port twice, or too many. */
int verbs_nic_names(const char *text, struct verbs_nic_name names[VERBS_RAILS_MOST], char *reason);

/* Of a queue pair: it waits 4.096 us * 2^timeout for an answer, and sends again `retries` times. */
struct verbs_patience {
    uint8_t timeout, retries;
};

/* A queue pair gives up within `most` seconds (--timeout), so that it names the peer before the
 * job's deadline does. It sends once, and `retries` times again. A NIC may wait four times as long
 * as it was told; most do not, and give up within a quarter. False: the settings ask for longer:
 * `reason` (TRANSPORT_REASON_MOST bytes). */
bool verbs_patience_choose(const struct transport_setting *settings, double most,
                           struct verbs_patience *patience, char *reason);

/* As transport->accepts(). */
bool verbs_accepts(const struct transport_setting *settings, double timeout, char *reason);

#endif
