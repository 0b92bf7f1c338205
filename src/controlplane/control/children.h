/*
 * children.h - the ranks that are connected to this one, each with the ranks behind it.
 *
 * The ranks form a tree, so that no rank holds the connections of all. A frame from a child may
 * come from any rank behind it; a frame to a child goes to all of them.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_CHILDREN_H
#define CCTEST_CONTROLPLANE_CONTROL_CHILDREN_H

#include <poll.h>

#include "controlplane/control/frame.h"

enum link_state {
    LINK_NEW, /* no frame has come */
    LINK_KNOWN,
    LINK_THROUGH /* the rank and all behind it know that the job has ended */
};

struct child_link {
    struct wire wire;
    int rank;     /* whose connection it is */
    double heard; /* when its last frame came */
    enum link_state state;
    bool direct; /* at rank 0: the rank has a parent, which was silent */
    bool broken; /* nothing can be sent any more; received frames are still to be read */
};

struct child_links {
    struct child_link *list;
    int count, room;
    int watched; /* the first of them, whose sockets are in the set of the last watch */
};

/* Takes the wire that is in `like`. NULL: out of memory, and it is closed. The link stays at
 * its place until the next watch. */
struct child_link *child_links_add(struct child_links *children, const struct child_link *like);
/* What poll() is to wait for, at most `count` of them; afterwards they are `watched`. */
void child_links_watch(struct child_links *children, struct pollfd *set);
/* To one, or to all of them, in the name of `rank`. */
void child_link_send(struct child_link *child, int rank, int type, const void *data, size_t size);
void child_links_send(struct child_links *children, int rank, int type, const void *data,
                      size_t size);
void child_links_flush(struct child_links *children);

/* Why a connection ends. */
enum link_end {
    LINK_BROKE,
    LINK_INVALID, /* a frame that no rank sends */
    LINK_FORGED,  /* data that failed authentication */
};

struct child_link_ops {
    /* A frame came; false: it is invalid. */
    bool (*received)(void *argument, struct child_link *child, const struct frame *frame);
    /* Nothing more can be read. It is closed after this. */
    void (*lost)(void *argument, struct child_link *child, enum link_end end);
};
/* Reads the frames of the children that were watched, after poll(). */
void child_links_serve(struct child_links *children, const struct pollfd *set, double now,
                       const struct child_link_ops *ops, void *argument);
/* The connection of `rank`; NULL: there is none. */
struct child_link *child_links_find(const struct child_links *children, int rank);
/* Closes the connection of `rank`, if there is one. */
void child_links_drop(struct child_links *children, int rank);
/* Does each know that the job has ended, or has it been silent for `deaf` seconds? */
bool child_links_through(const struct child_links *children, double now, double deaf);
bool child_links_pending(
    const struct child_links *children); /* is there anything that was not sent? */
void child_links_close(struct child_links *children);

#endif
