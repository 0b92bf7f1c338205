/*
 * refusal.h - why this rank cannot use verbs, and what to do.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_REFUSAL_H
#define CCTEST_TRANSPORTS_VERBS_REFUSAL_H

#include "transports/verbs/verbs.h"

#define VERBS_NO_DEVICE                                                                            \
    "this host has no RDMA device: load the driver of its NIC (such as mlx5_ib), or use another "  \
    "transport"

/* All write one clause into `reason` (TRANSPORT_REASON_MOST bytes). */

/* The library finds no device. */
void verbs_refuse_host(char *reason);

/* The device cannot be opened: `error`, an errno. */
void verbs_refuse_device(const struct verbs_rail *rail, int error, char *reason);
/* The port is not active. */
void verbs_refuse_port(const struct verbs_rail *rail, char *reason);

/* The device creates no queue of a kind that verbs needs: `error`, an errno. */
void verbs_refuse_queue(const struct verbs_rail *rail, const char *what, int error, char *reason);

/* No NIC port is `asked`. The reason lists the ports that there are, and the nearest name. */
void verbs_refuse_name(const struct verbs_nic *nics, int count, const struct verbs_nic_name *asked,
                       char *reason);

/* The limit of locked memory leaves no room for the buffers, once for each rail, for its queues, and
 * for the slots of a peer, of all ranks of this process. False: it leaves room, as far as can be
 * known before ranks connect. */
bool verbs_refuse_memory(const struct verbs_endpoint *endpoint, char *reason);

/* The limit of locked memory, and what to do so that each rank can register `bytes`: the limit is
 * that of a process, whose ranks may be several. Returns `text`. */
#define VERBS_MEMORY_ADVICE_MOST 320
const char *verbs_memory_advice(const struct verbs_endpoint *endpoint, size_t bytes,
                                char text[VERBS_MEMORY_ADVICE_MOST]);

#endif
