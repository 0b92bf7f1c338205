/*
 * children.c - the ranks that are connected to this one, each with the ranks behind it.
 */
#include "controlplane/control/control.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

struct child_link *child_links_add(struct child_links *children, const struct child_link *like)
{
    struct child_link *child = LIST_ADD(children->list, children->count);
    *child = *like;
    return child;
}

struct pollfd wire_watch(const struct wire *wire, bool sends)
{
    return (struct pollfd){.fd = wire->fd,
                           .events = (short)(POLLIN | (sends && wire_pending(wire) ? POLLOUT : 0))};
}

/* Closed links are removed only here: elsewhere a caller may be in the middle of the list. */
static void child_links_watch(struct child_links *children)
{
    int kept = 0;
    for (int i = 0; i < children->count; i++)
        if (children->list[i].wire.fd >= 0)
            children->list[kept++] = children->list[i];
    children->count = kept;
    for (int i = 0; i < children->count; i++)
        children->below[i] = wire_watch(&children->list[i].wire, true);
    children->watched = children->count;
}

void child_links_poll(struct child_links *children, const struct acceptor *acceptor,
                      struct pollfd *own, int count, int milliseconds, double now)
{
    int need = count + acceptor->listeners->count + acceptor->count + children->count;
    if (need > children->room) {
        free(children->polls);
        children->polls = new_array(2 * (size_t)need, sizeof *children->polls);
        children->room = 2 * need;
    }
    memcpy(children->polls, own, (size_t)count * sizeof *own);
    children->pending = children->polls + count;
    children->below = children->pending + acceptor_watch(acceptor, children->pending, now);
    child_links_watch(children);
    poll(children->polls, (nfds_t)(children->below - children->polls + children->watched),
         milliseconds);
    memcpy(own, children->polls, (size_t)count * sizeof *own);
}

void child_link_send(struct child_link *child, int rank, int type, const void *data, size_t size)
{
    if (child->wire.fd < 0 || wire_put(&child->wire, rank, type, data, size))
        return;
    say("a message of %zu bytes to rank %d is too large", size, child->rank);
    child->broken = true;
}

void child_links_send(struct child_links *children, int rank, int type, const void *data,
                      size_t size)
{
    for (int i = 0; i < children->count; i++)
        child_link_send(&children->list[i], rank, type, data, size);
}

void child_links_flush(struct child_links *children)
{
    for (int i = 0; i < children->count; i++) {
        struct child_link *child = &children->list[i];
        if (wire_pending(&child->wire) && !wire_flush(&child->wire))
            child->broken = true;
    }
}

static void child_serve(struct child_link *child, double now, const struct child_link_ops *ops,
                        void *argument)
{
    bool open = wire_fill(&child->wire);
    struct frame frame;
    enum frame_state state;
    while ((state = wire_take(&child->wire, &frame)) == FRAME_WHOLE) {
        child->heard = now;
        if (child->state == LINK_NEW)
            child->state = LINK_KNOWN;
        if (!ops->received(argument, child, &frame)) {
            state = FRAME_BAD;
            break;
        }
    }
    if (state == FRAME_FORGED)
        say("data on the connection of rank %d failed authentication: the connection is closed",
            child->rank);
    if (child->wire.fd < 0 || (open && state == FRAME_PART && !child->broken))
        return;
    ops->lost(argument, child,
              state == FRAME_BAD      ? LINK_INVALID
              : state == FRAME_FORGED ? LINK_FORGED
                                      : LINK_BROKE);
    wire_close(&child->wire);
}

void child_links_serve(struct child_links *children, double now, const struct child_link_ops *ops,
                       void *argument)
{
    for (int i = 0; i < children->watched; i++) {
        struct child_link *child = &children->list[i];
        if (child->wire.fd >= 0 && (child->broken || (children->below[i].revents & ~POLLOUT)))
            child_serve(child, now, ops, argument);
    }
}

struct child_link *child_links_find(const struct child_links *children, int rank)
{
    for (int i = 0; i < children->count; i++)
        if (children->list[i].rank == rank && children->list[i].wire.fd >= 0)
            return &children->list[i];
    return NULL;
}

void child_links_drop(struct child_links *children, int rank)
{
    struct child_link *child = child_links_find(children, rank);
    if (child)
        wire_close(&child->wire);
}

bool child_links_through(const struct child_links *children, double now, double deaf)
{
    for (int i = 0; i < children->count; i++)
        if (children->list[i].wire.fd >= 0 && children->list[i].state != LINK_THROUGH &&
            now - children->list[i].heard < deaf)
            return false;
    return true;
}

bool child_links_pending(const struct child_links *children)
{
    for (int i = 0; i < children->count; i++)
        if (wire_pending(&children->list[i].wire))
            return true;
    return false;
}

void child_links_close(struct child_links *children)
{
    for (int i = 0; i < children->count; i++)
        wire_close(&children->list[i].wire);
    free(children->list);
    free(children->polls);
    *children = (struct child_links){0};
}
