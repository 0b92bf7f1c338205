/*
 * listener.h - where a rail listens for the requests of librdmacm, and its addresses there.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_LISTENER_H
#define CCTEST_TRANSPORTS_VERBS_LISTENER_H

#include <sys/socket.h>

#include "transports/verbs/verbs.h"

#define VERBS_CM_ADVICE                                                                            \
    "load rdma_ucm, and give this user or container access to /dev/infiniband/rdma_cm"

/* The IP address that GID `number` of the port stands for, with this port number. `scope`: as in
 * struct verbs_rail. */
struct sockaddr_storage verbs_cm_address(const struct verbs_port *port, int number,
                                         uint16_t port_number, uint32_t scope);

/* Listens at each address of the rail, at one port number, and sets its cm_port. Forgets further
 * addresses where it cannot listen. STATUS_UNAVAILABLE: not at the first, for `reason`. */
enum status verbs_listen(struct verbs_rail *rail, char *reason);
void verbs_listen_end(struct verbs_rail *rail);

#endif
