/*
 * children.h - the ranks that are connected to this one, each with the ranks behind it.
 *
 * The ranks form a tree, so that no rank holds the connections of all. What comes up a branch may
 * be the words of any rank behind it; what goes down is for all of them.
 */
#ifndef CCTEST_CONTROL_CHILDREN_H
#define CCTEST_CONTROL_CHILDREN_H

#include <poll.h>

#include "control/frame.h"

struct branch {
    struct wire wire;
    int rank;     /* whose connection it is */
    double heard; /* when it last said anything */
    bool voice;   /* at rank 0: it has a parent elsewhere, which was silent when it came */
    bool known;   /* it has said something */
    bool through; /* it and all behind it know that the job has ended */
    bool broken;  /* nothing can be sent to it any more */
};

struct branches {
    struct branch *list;
    int count, room;
    int watched; /* the first of them, whose sockets are in the set of the last watch */
};

/* Takes the wire that is in `like`. NULL: out of memory, and it is closed. The branch stays there
 * until the next watch. */
struct branch *branches_add(struct branches *branches, const struct branch *like);
/* What poll() is to wait for, at most `count` of them; afterwards they are `watched`. */
void branches_watch(struct branches *branches, struct pollfd *set);
/* To all of them, in the name of `rank`. */
void branches_send(struct branches *branches, int rank, int type, const void *data, size_t size);
void branches_flush(struct branches *branches);

struct branch_hearer {
    /* A frame came; false: no rank of ours sends this. */
    bool (*hear)(void *argument, struct branch *branch, const struct frame *frame);
    /* The connection is broken, or what came over it (`nonsense`); it is closed after this. */
    void (*lose)(void *argument, struct branch *branch, bool nonsense);
};
/* Hears those that were watched, after poll(). */
void branches_serve(struct branches *branches, const struct pollfd *set, double now,
                    const struct branch_hearer *hearer, void *argument);
/* The connection of `rank`; NULL: there is none. */
struct branch *branches_find(const struct branches *branches, int rank);
/* Closes the connection of `rank`, if there is one. */
void branches_drop(struct branches *branches, int rank);
/* Has each heard that the job has ended, or been silent for `deaf` seconds? */
bool branches_through(const struct branches *branches, double now, double deaf);
bool branches_pending(const struct branches *branches); /* is there anything that was not sent? */
void branches_close(struct branches *branches);

#endif
