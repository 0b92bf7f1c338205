/*
 * uplink.h - the way of every rank but 0 to rank 0.
 */
#ifndef CCTEST_CONTROL_UPLINK_H
#define CCTEST_CONTROL_UPLINK_H

#include <poll.h>

#include "control/children.h"
#include "control/connector.h"
#include "control/mailbox.h"
#include "control/rank_acceptor.h"

/* Where a rank stands on its way to rank 0. The state says which connections it has; only
 * uplink.c changes both.
 *
 *             `up` to  `voice` to  what leads on
 *     FIRST   -        -           rank 0 answers: ASKED
 *     ASKED   rank 0   -           its place is here: DIRECT, or elsewhere: SENT
 *     SENT    -        -           that parent answers: BELOW, or does not: AGAIN
 *     AGAIN   -        -           rank 0 answers: ASKED
 *     DIRECT  rank 0   -
 *     BELOW   parent   -           the parent was silent, and rank 0 answers: VOICE
 *     VOICE   parent   rank 0      the parent brings beats again: BACK
 *     BACK    parent   rank 0      rank 0 closes `voice`: BELOW
 *     ORPHAN  -        -           rank 0 answers: DIRECT
 *
 * When `up` breaks, or the parent says that it is alone and the job has not ended, VOICE becomes
 * DIRECT and all others become ORPHAN; those whose `up` led to rank 0 are alone then. When `voice`
 * breaks, VOICE becomes BELOW, or ORPHAN if the job has ended. A rank is also alone, and stays in
 * its state, when rank 0 is silent for the deadline, or nobody listens there when ORPHAN or BELOW
 * call again.
 *
 * FIRST, AGAIN and ORPHAN call rank 0 again and again, BELOW does while the parent is silent; SENT
 * calls the parent. From DIRECT on, the rank is placed: it may speak, and is not sent elsewhere. */
enum uplink_state {
    UPLINK_FIRST,
    UPLINK_ASKED,
    UPLINK_SENT,
    UPLINK_AGAIN,
    UPLINK_DIRECT,
    UPLINK_BELOW,
    UPLINK_VOICE,
    UPLINK_BACK,
    UPLINK_ORPHAN
};

/* GOODBYE, to be said by who is alone or knows how the job ended, once those below do. */
enum leave { LEAVE_NONE, LEAVE_DUE, LEAVE_TAKEN };

struct relay {
    struct control *control;
    struct child_links children;
    struct rank_acceptor rank_acceptor;
    struct pollfd *polls;

    enum uplink_state uplink;
    struct wire up;        /* to its parent; fd -1: what it says waits until there is one */
    struct wire voice;     /* to rank 0, while the parent brings nothing of it; fd -1: none */
    struct connector call; /* to rank 0, or in SENT to the parent */
    double call_until;     /* when rank 0 must have been reached */
    double call_again;     /* not sooner */
    double wait;           /* before the call after the next failure */
    unsigned seed;         /* of what chance takes off that */
    int refusals;          /* calls in a row at which nobody listened */
    const char *outcomes[ADDRESSES_MOST];        /* of the calls at rank 0's addresses, */
    const char *parent_outcomes[ADDRESSES_MOST]; /* and at those of the parent */
    int spare;          /* which of rank 0's spare ports is called; 0: its first */
    char stranger[160]; /* what was found at a port where rank 0 may be, but is not */
    bool forsaken;      /* the parent has said that it is alone: as ORPHAN, one more call to rank 0
                           shows who is right, */
    char reason[120];   /* or this is why */

    /* In any state: who is alone keeps its connections, and rank 0 may only have been stopped. */
    bool alone; /* it does not reach rank 0 any more, and tries no more; `leave` is not NONE */
    enum leave leave;

    double heard, parent_heard; /* when rank 0 was, and when it was through the parent */
    double pulsed;              /* when this rank last was, by rank 0 */
    double interrupted;         /* when a signal was passed on; 0: none */
    double closing_at;
    struct progress_snapshot sent; /* the last pulse */
    uint64_t strangers;            /* that rank 0 was told of */
    struct bytes failure; /* the content of FAILED, if this rank said it: a parent may not have
                             passed it on */
};

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
void relay_say(struct relay *relay, int rank, int type, const void *data, size_t size);
void relay_must_leave(struct relay *relay); /* GOODBYE is due */

void relay_begin(struct relay *relay);
void relay_go(struct relay *relay, const struct redirect *redirect); /* to another parent */
/* The parent is gone, or given up. */
void relay_is_orphan(struct relay *relay, const char *why);
void relay_lose_voice(struct relay *relay);
/* Rank 0 cannot be reached any more: nobody will say so for this rank, and those below it. */
void relay_is_alone(struct relay *relay, const char *why);
/* Goes on with all of that, after poll(). */
void relay_tend_uplink(struct relay *relay, short call_events);

#endif
