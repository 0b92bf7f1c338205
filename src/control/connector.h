/*
 * connector.h - one rank connects to another and proves itself, while it goes on with all else.
 */
#ifndef CCTEST_CONTROL_CONNECTOR_H
#define CCTEST_CONTROL_CONNECTOR_H

#include <poll.h>

#include "control/frame.h"
#include "control/join_request.h"
#include "control/mailbox.h"
#include "net/handshake.h"

enum connector_state {
    CALL_NONE,
    CALL_PENDING,
    CALL_DONE,     /* connector_take() gives the socket */
    CALL_FAILED,   /* none of the addresses led there */
    CALL_HOPELESS, /* and who listens there is not of this job */
};

struct connector {
    struct control *control;
    enum connector_state state;
    int rank; /* that is called */
    unsigned char request[HANDSHAKE_HELLO_MOST];
    size_t hello_size;
    struct address routes[ADDRESSES_MOST];
    const char **outcomes; /* of each */
    int count, next;
    int refused;           /* addresses at which nobody listened */
    int foreign;           /* at which another program does, */
    bool wrong;            /* or one that does not know the secret: */
    const char *rejection; /* what the last of these did; NULL: there was none */
    double seconds;        /* for one address */
    double until;          /* the present one's end */
    int fd;
    struct handshake *handshake; /* NULL: it does not answer yet */
};

/* Begins to call `rank` at `routes`, one after the other, `seconds` for each; says in `outcomes`,
 * which stays the caller's, what came of each (a text that nobody frees). */
void connector_begin(struct connector *call, struct control *control, int rank,
                     const struct join_request *request, const struct address *routes,
                     const char **outcomes, int count, double seconds);
/* What poll() is to wait for; fd -1: nothing. */
struct pollfd connector_watch(const struct connector *call);
/* After poll(); returns the new state. */
enum connector_state connector_step(struct connector *call, short events);
/* The wire is connected to who was called; the state is NONE again. */
void connector_take(struct connector *call, struct wire *wire);
void connector_drop(struct connector *call);

#endif
