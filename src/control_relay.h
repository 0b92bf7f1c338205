/*
 * control_relay.h - what the files of every rank but 0 share: control_relay.c (what it hears and
 * says, the loop) and control_relay_up.c (its way to rank 0).
 */
#ifndef CCTEST_CONTROL_RELAY_H
#define CCTEST_CONTROL_RELAY_H

#include "control_branches.h"
#include "control_call.h"
#include "control_internal.h"

#define SILENT_SECONDS 1.0 /* of rank 0 mean nothing yet, even if the deadline is shorter */

struct relay {
    struct control *control;
    struct branches branches;
    struct lobby *lobby; /* NULL: it takes no more in */
    struct pollfd *polls;

    struct wire up;    /* to its parent; fd -1: what it says waits until there is one */
    struct wire voice; /* to rank 0, while the parent brings nothing of it; fd -1: none */
    int parent;
    struct call call;                                 /* to rank 0, or to `parent` */
    double call_until;                                /* when rank 0 must have been reached */
    double call_again;                                /* not sooner */
    double wait;                                      /* before the call after the next failure */
    unsigned seed;                                    /* of what chance takes off that */
    int refusals;                                     /* calls in a row at which nobody listened */
    const char *outcomes[HOME_ADDRESSES_MOST];        /* of the calls at rank 0's addresses, */
    const char *parent_outcomes[HOME_ADDRESSES_MOST]; /* and at those of `parent` */
    int spare;            /* which of rank 0's spare ports is called; 0: its first */
    char stranger[160];   /* what was found at a port where rank 0 may be, but is not */
    enum arrival arrival; /* at the next call to rank 0 */
    bool placed;          /* it may speak to who is above: it is not sent elsewhere any more */
    bool back;            /* it has told rank 0 that it needs `voice` no more */
    bool alone;           /* it does not reach rank 0 any more, and tries no more */
    bool forsaken;        /* the parent says that it does not: one more call shows who is right, */
    char reason[120];     /* or this is why */

    double heard, parent_heard; /* when rank 0 was, and when it was through the parent */
    double pulsed;              /* when this rank last was, by rank 0 */
    double interrupted;         /* when a signal was passed on; 0: none */
    double closing_at;
    struct reading sent; /* the last pulse */
    uint64_t strangers;  /* that rank 0 was told of */
    struct bytes
        failure; /* the content of FAILED, if this rank said it: a parent may not have passed
                             it on */
    bool farewell, left; /* GOODBYE is due; it was said */
};

/* To rank 0, in the name of `rank`. */
void relay_say(struct relay *relay, int rank, int type, const void *data, size_t size);
/* Reads and passes on what came from above; false: the connection is broken. */
bool relay_receive(struct relay *relay, struct wire *wire, const char **why);
/* Rank 0 cannot be reached any more: nobody will say so for this rank, and those below it. */
void relay_is_alone(struct relay *relay, const char *why);

/* control_relay_up.c */
void relay_begin(struct relay *relay);
void relay_go(struct relay *relay, const struct redirect *redirect); /* to another parent */
/* The parent is gone. */
void relay_is_orphan(struct relay *relay, const char *why);
/* Goes on with all of that, after poll(). */
void relay_tend_way(struct relay *relay, short call_events);

#endif
