/*
 * children.c - the ranks that are connected to this one, each with the ranks behind it.
 */
#include "control/children.h"

#include <stdlib.h>

#include "base/log.h"

struct branch *branches_add(struct branches *branches, const struct branch *like)
{
    if (branches->count == branches->room) {
        int room = 2 * branches->room + 4;
        struct branch *list = realloc(branches->list, (size_t)room * sizeof *list);
        if (!list) {
            struct wire wire = like->wire;
            wire_close(&wire);
            return NULL;
        }
        branches->list = list;
        branches->room = room;
    }
    struct branch *branch = &branches->list[branches->count++];
    *branch = *like;
    return branch;
}

/* Those that were closed go only now: who serves or sends may be in the middle of the list. */
void branches_watch(struct branches *branches, struct pollfd *set)
{
    int kept = 0;
    for (int i = 0; i < branches->count; i++)
        if (branches->list[i].wire.fd >= 0)
            branches->list[kept++] = branches->list[i];
    branches->count = kept;
    for (int i = 0; i < branches->count; i++) {
        const struct wire *wire = &branches->list[i].wire;
        set[i] = (struct pollfd){.fd = wire->fd,
                                 .events = (short)(POLLIN | (wire_pending(wire) ? POLLOUT : 0))};
    }
    branches->watched = branches->count;
}

void branches_send(struct branches *branches, int rank, int type, const void *data, size_t size)
{
    for (int i = 0; i < branches->count; i++) {
        struct branch *branch = &branches->list[i];
        if (branch->wire.fd >= 0 && !wire_put(&branch->wire, rank, type, data, size)) {
            say("out of memory for a message of %zu bytes to rank %d", size, branch->rank);
            branch->broken = true;
        }
    }
}

void branches_flush(struct branches *branches)
{
    for (int i = 0; i < branches->count; i++) {
        struct branch *branch = &branches->list[i];
        if (wire_pending(&branch->wire) && !wire_flush(&branch->wire))
            branch->broken = true; /* what it said before is still to be read */
    }
}

static void branch_serve(struct branch *branch, double now, const struct branch_hearer *hearer,
                         void *argument)
{
    bool open = wire_fill(&branch->wire);
    struct frame frame;
    enum frame_state state;
    while ((state = wire_take(&branch->wire, &frame)) == FRAME_WHOLE) {
        branch->heard = now;
        branch->known = true;
        if (!hearer->hear(argument, branch, &frame)) {
            state = FRAME_BAD;
            break;
        }
    }
    if (state == FRAME_FORGED)
        say("what comes over the connection of rank %d is not what it sent: it is given up",
            branch->rank);
    if (branch->wire.fd < 0 || (open && state == FRAME_PART && !branch->broken))
        return;
    hearer->lose(argument, branch, state == FRAME_BAD);
    wire_close(&branch->wire);
}

void branches_serve(struct branches *branches, const struct pollfd *set, double now,
                    const struct branch_hearer *hearer, void *argument)
{
    for (int i = 0; i < branches->watched; i++) {
        struct branch *branch = &branches->list[i];
        if (branch->wire.fd >= 0 && (branch->broken || (set[i].revents & ~POLLOUT)))
            branch_serve(branch, now, hearer, argument);
    }
}

struct branch *branches_find(const struct branches *branches, int rank)
{
    for (int i = 0; i < branches->count; i++)
        if (branches->list[i].rank == rank && branches->list[i].wire.fd >= 0)
            return &branches->list[i];
    return NULL;
}

void branches_drop(struct branches *branches, int rank)
{
    struct branch *branch = branches_find(branches, rank);
    if (branch)
        wire_close(&branch->wire);
}

bool branches_through(const struct branches *branches, double now, double deaf)
{
    for (int i = 0; i < branches->count; i++)
        if (branches->list[i].wire.fd >= 0 && !branches->list[i].through &&
            now - branches->list[i].heard < deaf)
            return false;
    return true;
}

bool branches_pending(const struct branches *branches)
{
    for (int i = 0; i < branches->count; i++)
        if (wire_pending(&branches->list[i].wire))
            return true;
    return false;
}

void branches_close(struct branches *branches)
{
    for (int i = 0; i < branches->count; i++)
        wire_close(&branches->list[i].wire);
    free(branches->list);
    *branches = (struct branches){0};
}
