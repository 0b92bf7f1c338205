/*
 * cm.h - identifiers of librdmacm and their events.
 */
#ifndef CCTEST_TEST_VERBS_CM_H
#define CCTEST_TEST_VERBS_CM_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

struct strict_device;

#define CM_PRIVATE_MOST 196 /* bytes that a reply may carry; a request: 56 */

enum cm_state {
    CM_IDLE,
    CM_BOUND,
    CM_LISTENING,
    CM_ADDRESS_RESOLVED,
    CM_ROUTE_RESOLVED,
    CM_REQUESTED, /* by this end */
    CM_ASKED,     /* by the other end */
    CM_REPLIED,   /* accepted by the other end: establish it */
    CM_ACCEPTED,  /* by this end */
    CM_CONNECTED,
    CM_CLOSED,
};

struct strict_cm_event {
    struct strict_cm_event *next;
    struct rdma_cm_event event;
    char data[CM_PRIVATE_MOST];
};

struct strict_channel {
    struct rdma_event_channel base;
    struct strict_cm_event *events;
    int ids;
};

struct strict_id {
    struct rdma_cm_id base;
    struct strict_id *next; /* of all */
    enum cm_state state;
    struct strict_device *device; /* NULL: any */
    int gid;                      /* index of its address in the table of the port */
    uint16_t port;                /* of the address, in host order */
    struct strict_id *peer;       /* the other end, while both are there */
    struct ibv_qp_attr remote;    /* what RTR and RTS need */
    uint32_t number, own_packet;  /* its queue pair, and the first packet that it sends */
    int unacknowledged;
};

/* Appends an event, with a copy of the private data. */
struct strict_cm_event *cm_event_send(struct strict_id *id, enum rdma_cm_event_type type,
                                      int status, const void *data, uint8_t size);
/* A new identifier on the channel. */
struct strict_id *cm_id_make(struct rdma_event_channel *channel, void *context,
                             enum rdma_port_space space);

#endif
