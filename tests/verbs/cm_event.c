/*
 * cm_event.c - event channels and identifiers of librdmacm.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cm.h"
#include "fabric.h"

struct rdma_event_channel *rdma_create_event_channel(void)
{
    fabric_enter();
    struct strict_channel *channel = fabric_allocate(sizeof(*channel));
    channel->base.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    fabric.channels++;
    fabric_leave();
    return &channel->base;
}

void rdma_destroy_event_channel(struct rdma_event_channel *base)
{
    fabric_enter();
    struct strict_channel *channel = (struct strict_channel *)base;
    if (channel->ids)
        violation("rdma_destroy_event_channel() while %d identifiers use it", channel->ids);
    fabric.channels--;
    close(base->fd);
    free(channel);
    fabric_leave();
    fabric_count_destroyed();
}

struct strict_id *cm_id_make(struct rdma_event_channel *channel, void *context,
                             enum rdma_port_space space)
{
    struct strict_id *id = fabric_allocate(sizeof(*id));
    id->base.channel = channel;
    id->base.context = context;
    id->base.ps = space;
    id->base.qp_type = IBV_QPT_RC;
    id->own_packet = (uint32_t)fabric_random(1 << 24);
    id->next = fabric.ids;
    fabric.ids = id;
    ((struct strict_channel *)channel)->ids++;
    return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space space)
{
    fabric_enter();
    *id = &cm_id_make(channel, context, space)->base;
    fabric_leave();
    return 0;
}

static void cm_id_unlink(struct strict_id *id)
{
    struct strict_id **link = &fabric.ids;
    while (*link != id)
        link = &(*link)->next;
    *link = id->next;
    ((struct strict_channel *)id->base.channel)->ids--;
}

/* The listener goes, and nobody has the identifier of the request. */
static void cm_request_drop(struct strict_id *asked)
{
    if (asked->peer) {
        asked->peer->peer = NULL;
        cm_event_send(asked->peer, RDMA_CM_EVENT_REJECTED, 28, NULL, 0);
    }
    cm_id_unlink(asked);
    free(asked);
}

/* Events of the identifier that were not taken are dropped. */
static void cm_events_drop(struct strict_id *id)
{
    struct strict_channel *channel = (struct strict_channel *)id->base.channel;
    struct strict_cm_event **link = &channel->events;
    while (*link) {
        struct strict_cm_event *event = *link;
        uint64_t one;
        if (event->event.id != &id->base && event->event.listen_id != &id->base) {
            link = &event->next;
            continue;
        }
        *link = event->next;
        if (read(channel->base.fd, &one, 8) != 8)
            abort();
        struct strict_id *asked = (struct strict_id *)event->event.id;
        if (asked != id)
            cm_request_drop(asked);
        free(event);
    }
}

int rdma_destroy_id(struct rdma_cm_id *base)
{
    fabric_count_destroyed();
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base, *each = fabric.ids;
    while (each && each != id)
        each = each->next;
    if (!each) {
        violation("rdma_destroy_id() of an identifier that is not there");
        fabric_leave();
        errno = EINVAL;
        return -1;
    }
    cm_id_unlink(id);
    if (id->unacknowledged)
        violation("rdma_destroy_id() with %d events that were not acknowledged",
                  id->unacknowledged);
    cm_events_drop(id);
    if (id->peer) {
        struct strict_id *peer = id->peer;
        peer->peer = NULL;
        if (peer->state == CM_REQUESTED)
            cm_event_send(peer, RDMA_CM_EVENT_REJECTED, 28, NULL, 0);
        else if (peer->state == CM_CONNECTED || peer->state == CM_REPLIED)
            cm_event_send(peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
    }
    free(id);
    fabric_leave();
    return 0;
}

struct strict_cm_event *cm_event_send(struct strict_id *id, enum rdma_cm_event_type type,
                                      int status, const void *data, uint8_t size)
{
    struct strict_channel *channel = (struct strict_channel *)id->base.channel;
    struct strict_cm_event *event = fabric_allocate(sizeof(*event)), **last = &channel->events;
    event->event.id = &id->base;
    event->event.event = type;
    event->event.status = status;
    if (size) {
        /* InfiniBand fills the field up with zeros, and does not tell how much was sent. */
        bool request = type == RDMA_CM_EVENT_CONNECT_REQUEST;
        memcpy(event->data, data, size);
        event->event.param.conn.private_data = event->data;
        event->event.param.conn.private_data_len = fabric.config.iwarp ? size
                                                   : request           ? 56
                                                                       : CM_PRIVATE_MOST;
    }
    while (*last)
        last = &(*last)->next;
    *last = event;
    if (write(channel->base.fd, &(uint64_t){1}, 8) != 8)
        abort();
    return event;
}

/* Blocks, unless the descriptor does not. */
int rdma_get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **result)
{
    uint64_t one;
    if (read(base->fd, &one, 8) != 8)
        return -1;
    fabric_enter();
    struct strict_channel *channel = (struct strict_channel *)base;
    struct strict_cm_event *event = channel->events;
    if (!event) {
        fabric_leave();
        errno = EAGAIN;
        return -1;
    }
    channel->events = event->next;
    struct rdma_cm_id *holder = event->event.listen_id ? event->event.listen_id : event->event.id;
    ((struct strict_id *)holder)->unacknowledged++;
    event->next = fabric.cm_taken;
    fabric.cm_taken = event;
    *result = &event->event;
    fabric_leave();
    return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *base)
{
    fabric_enter();
    struct strict_cm_event **link = &fabric.cm_taken;
    while (*link && &(*link)->event != base)
        link = &(*link)->next;
    struct strict_cm_event *event = *link;
    if (event) {
        struct rdma_cm_id *holder = base->listen_id ? base->listen_id : base->id;
        ((struct strict_id *)holder)->unacknowledged--;
        *link = event->next;
        free(event);
    } else {
        violation("rdma_ack_cm_event() of an event that is not there, or was acknowledged before");
    }
    fabric_leave();
    errno = event ? 0 : EINVAL;
    return event ? 0 : -1;
}

const char *rdma_event_str(enum rdma_cm_event_type type)
{
    static const char *const words[] = {
        "RDMA_CM_EVENT_ADDR_RESOLVED",   "RDMA_CM_EVENT_ADDR_ERROR",
        "RDMA_CM_EVENT_ROUTE_RESOLVED",  "RDMA_CM_EVENT_ROUTE_ERROR",
        "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
        "RDMA_CM_EVENT_CONNECT_ERROR",   "RDMA_CM_EVENT_UNREACHABLE",
        "RDMA_CM_EVENT_REJECTED",        "RDMA_CM_EVENT_ESTABLISHED",
        "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
        "RDMA_CM_EVENT_MULTICAST_JOIN",  "RDMA_CM_EVENT_MULTICAST_ERROR",
        "RDMA_CM_EVENT_ADDR_CHANGE",     "RDMA_CM_EVENT_TIMEWAIT_EXIT"};
    return (unsigned)type < sizeof(words) / sizeof(words[0]) ? words[type] : "UNKNOWN EVENT";
}
