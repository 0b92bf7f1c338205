/*
 * connector.h - connects to another rank and authenticates, without blocking.
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
    CALL_HOPELESS, /* and what listens there is not of this job */
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
    int refused;           /* addresses at which no process listened */
    int foreign;           /* at which another program does, */
    bool wrong;            /* or one that does not know the secret: */
    const char *rejection; /* what the last of these did; NULL: there was none */
    double seconds;        /* for one address */
    double until;          /* the present one's end */
    int fd;
    struct handshake *handshake; /* NULL: it does not answer yet */
};

/* Begins to call `rank` at `routes`, one after the other, `seconds` for each; sets the
 * outcome of each in `outcomes`, which stay the caller's, to a static text. */
void connector_begin(struct connector *call, struct control *control, int rank,
                     const struct join_request *request, const struct address *routes,
                     const char **outcomes, int count, double seconds);
/* What poll() is to wait for; fd -1: nothing. */
struct pollfd connector_watch(const struct connector *call);
/* After poll(); returns the new state. */
enum connector_state connector_step(struct connector *call, short events);
/* Moves the connection into the wire; the state is NONE again. */
void connector_take(struct connector *call, struct wire *wire);
void connector_drop(struct connector *call);

#endif
