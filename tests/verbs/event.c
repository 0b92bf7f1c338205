/*
 * event.c - asynchronous events: a queue for each context, whose descriptor counts them.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "device.h"
#include "fabric.h"

void event_send(struct ibv_context *base, enum ibv_event_type type, void *element)
{
    struct strict_context *context = context_of(base);
    struct strict_event *event = fabric_allocate(sizeof(*event)), **last = &context->events;
    event->event.event_type = type;
    event->event.element.qp = element; /* of the union: any pointer */
    while (*last)
        last = &(*last)->next;
    *last = event;
    if (write(base->async_fd, &(uint64_t){1}, 8) != 8)
        abort();
}

static bool event_is_of(const struct ibv_async_event *event, const void *element)
{
    switch (event->event_type) {
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
        return false;
    default:
        return event->element.qp == element;
    }
}

void events_drop(struct ibv_context *base, const void *element)
{
    struct strict_event **link = &context_of(base)->events;
    while (*link) {
        struct strict_event *event = *link;
        uint64_t one;
        if (!event_is_of(&event->event, element)) {
            link = &event->next;
            continue;
        }
        *link = event->next;
        free(event);
        if (read(base->async_fd, &one, 8) != 8)
            abort();
    }
}

void device_event(struct strict_device *device, int port, enum ibv_event_type type)
{
    if (type == IBV_EVENT_DEVICE_FATAL)
        device->fatal = true;
    for (struct strict_context *each = fabric.contexts; each; each = each->next) {
        if (each->device != device)
            continue;
        event_send(&each->verbs.context, type, NULL);
        struct strict_event *last = each->events;
        while (last->next)
            last = last->next;
        last->event.element.port_num = type == IBV_EVENT_DEVICE_FATAL ? 0 : port;
    }
}

void device_port_state(struct strict_device *device, int port, enum ibv_port_state state)
{
    device->ports[port - 1].attr.state = state;
    device_event(device, port,
                 state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

static struct strict_device *device_at(int host, int device)
{
    return &fabric.devices[host * fabric.config.devices + device];
}

void provider_event(int host, int device, int port, enum ibv_event_type type)
{
    fabric_enter();
    device_event(device_at(host, device), port, type);
    fabric_leave();
}

void provider_port_state(int host, int device, int port, enum ibv_port_state state)
{
    fabric_enter();
    device_port_state(device_at(host, device), port, state);
    fabric_leave();
}

void provider_cut(int host, int device, int port, bool cut)
{
    fabric_enter();
    device_at(host, device)->ports[port - 1].cut = cut;
    fabric_leave();
}

/* The counter of the element's events that are not acknowledged. */
static int *event_counter(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        return &((struct strict_cq *)event->element.cq)->unacknowledged;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return &((struct strict_srq *)event->element.srq)->unacknowledged;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return &((struct strict_qp *)event->element.qp)->unacknowledged;
    default:
        return NULL;
    }
}

/* Blocks, unless the descriptor does not. */
int ibv_get_async_event(struct ibv_context *base, struct ibv_async_event *result)
{
    uint64_t one;
    if (read(base->async_fd, &one, 8) != 8)
        return -1;
    fabric_enter();
    struct strict_context *context = context_of(base);
    struct strict_event *event = context->events;
    if (!event) { /* its object was destroyed in between */
        fabric_leave();
        errno = EAGAIN;
        return -1;
    }
    context->events = event->next;
    *result = event->event;
    int *counter = event_counter(result);
    ++*(counter ? counter : &context->unacknowledged);
    free(event);
    fabric_leave();
    return 0;
}

/* The events of devices and ports do not name a context: any that waits for one will do. */
void ibv_ack_async_event(struct ibv_async_event *event)
{
    fabric_enter();
    int *counter = event_counter(event);
    struct strict_context *context = fabric.contexts;
    while (!counter && context) {
        if (context->unacknowledged > 0)
            counter = &context->unacknowledged;
        context = context->next;
    }
    if (!counter || *counter == 0)
        violation("ibv_ack_async_event(%s) of an event that was acknowledged before",
                  ibv_event_type_str(event->event_type));
    else
        --*counter;
    fabric_leave();
}
