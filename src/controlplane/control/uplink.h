/*
 * uplink.h - the connection of every rank but 0 towards rank 0, and the state that goes with it.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_UPLINK_H
#define CCTEST_CONTROLPLANE_CONTROL_UPLINK_H

#include <poll.h>

#include "controlplane/control/children.h"
#include "controlplane/control/mailbox.h"
#include "controlplane/control/maxima.h"
#include "controlplane/control/rank_acceptor.h"
#include "base/net/connector.h"

/* Where a rank stands on its way to rank 0. The state says which connections it has; only
 * uplink.c changes both.
 *
 *               `up` to  `direct` to  what leads on
 *     FIRST     -        -            rank 0 answers: ASKED
 *     ASKED     rank 0   -            its place is there: DIRECT; elsewhere: SENT
 *     SENT      -        -            the parent answers: BELOW; it does not: AGAIN
 *     AGAIN     -        -            rank 0 answers: ASKED
 *     DIRECT    rank 0   -
 *     BELOW     parent   -            the parent is silent, and rank 0 answers: BOTH
 *     BOTH      parent   rank 0       the parent brings heartbeats again: RETURNING
 *     RETURNING parent   rank 0       rank 0 closes `direct`: BELOW
 *     ORPHAN    -        -            rank 0 answers: DIRECT
 *     ISOLATED  any      any          the connections stay: rank 0 may only have been stopped
 *
 * When `up` breaks, or an isolated parent says so before the job has ended, DIRECT (and ASKED)
 * becomes ISOLATED, BOTH becomes DIRECT, and all others become ORPHAN. When `direct` breaks, BOTH
 * becomes BELOW, or ORPHAN if the job has ended. Any state becomes ISOLATED when rank 0 is silent
 * for the deadline, or no process listens there when ORPHAN or BELOW call again.
 *
 * FIRST, AGAIN and ORPHAN call rank 0 again and again, BELOW does while the parent is silent; SENT
 * calls the parent. From DIRECT on, the rank is placed: it may send, and is not sent elsewhere.
 *
 * BOTH keeps the parent's connection because a stopped parent that goes on delivers what lies in
 * it, in both directions; RETURNING, because rank 0 would else keep a connection of every rank
 * after it was stopped itself. */
enum uplink_state {
    UPLINK_FIRST,
    UPLINK_ASKED,
    UPLINK_SENT,
    UPLINK_AGAIN,
    UPLINK_DIRECT,
    UPLINK_BELOW,
    UPLINK_BOTH,
    UPLINK_RETURNING,
    UPLINK_ORPHAN,
    UPLINK_ISOLATED
};

/* GOODBYE is due when the rank is isolated or knows how the job ended. It is sent once the children
 * know it, too. */
enum leave { LEAVE_NONE, LEAVE_DUE, LEAVE_SENT };

struct relay {
    struct control *control;
    struct child_links children;
    struct rank_acceptor rank_acceptor;
    struct pollfd *polls;
    int *behind;          /* by rank: the child through which its last share came; 0: none did */
    struct maxima maxima; /* of ranks behind this one, and of itself; they wait for the others */
    double maxima_since;  /* when the first of them came */

    enum uplink_state uplink;
    struct wire up;                              /* fd -1: what is sent waits until there is one */
    struct wire direct;                          /* fd -1: none */
    struct connector connector;                  /* to rank 0, or in SENT to the parent */
    double call_until;                           /* when rank 0 must have been reached */
    double call_again;                           /* not sooner */
    double wait;                                 /* before the call after the next failure */
    unsigned seed;                               /* of the jitter that shortens it */
    int refusals;                                /* calls in a row at which no process listened, */
    int rejections;                              /* or that another program or job answered */
    const char *outcomes[ADDRESSES_MOST];        /* of the calls at rank 0's addresses, */
    const char *parent_outcomes[ADDRESSES_MOST]; /* and at the addresses of the parent */
    char foreign[160];         /* what was found at one of rank 0's possible ports in its place */
    char parent_isolated[120]; /* why the parent is isolated, as it said; "": it is not. One more
                                  call to rank 0 shows whether this rank is, too */

    enum leave leave;
    double heard, parent_heard;    /* when rank 0 was, and when it was through the parent */
    double interrupted;            /* when a signal was passed on; 0: none */
    double closing_at;             /* 0: not yet */
    double heartbeat_at;           /* of the last heartbeat, */
    struct progress_snapshot sent; /* and its content */
    struct bytes failure;          /* the content of FAILED, if this rank sent it */
};

/* Is this rank one of the few that say what all notice about rank 0? */
bool relay_reports(const struct relay *relay);

static inline bool relay_is_placed(const struct relay *relay)
{
    return relay->uplink >= UPLINK_DIRECT;
}

/* Is rank 0 its parent? */
static inline bool relay_is_direct(const struct relay *relay)
{
    return relay->uplink == UPLINK_ASKED || relay->uplink == UPLINK_DIRECT;
}

/* To rank 0, in the name of `rank`. */
void relay_send(struct relay *relay, int rank, int type, const void *data, size_t size);
void relay_must_leave(struct relay *relay); /* GOODBYE is due */

/* The first call to rank 0. */
void relay_begin(struct relay *relay);
/* Rank 0 has said where the place of this rank is. */
void relay_follow(struct relay *relay, const struct redirect *redirect);
/* `up` is broken, or the parent has no way to rank 0; `why` says what is known of it. */
void relay_lose_parent(struct relay *relay, const char *why);
void relay_lose_direct(struct relay *relay);
/* Rank 0 cannot be reached any more: tells the children, and ends the job for this rank. */
void relay_isolate(struct relay *relay, const char *why);
/* Goes on with all of that, after poll(). */
void relay_tend_uplink(struct relay *relay, short connector_events);

#endif
