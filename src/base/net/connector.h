/*
 * connector.h - connects to another rank and authenticates, without blocking.
 */
#ifndef CCTEST_BASE_NET_CONNECTOR_H
#define CCTEST_BASE_NET_CONNECTOR_H

#include <poll.h>

#include "base/net/address.h"
#include "base/net/handshake.h"

enum connector_state {
    CALL_NONE,
    CALL_PENDING,
    CALL_DONE,     /* the owner takes `fd` and `keys`, then connector_taken() */
    CALL_FAILED,   /* none of the addresses led there */
    CALL_HOPELESS, /* and what listens there is not of this job */
};

struct connector {
    /* Set by the owner before connector_begin(). */
    const unsigned char *secret;
    const char *purpose; /* as in handshake_create() */
    unsigned char hello[HANDSHAKE_HELLO_MOST];
    size_t hello_size;
    int rank; /* that is called */
    /* Does its hello come from that rank? Private addresses are not unique. */
    bool (*is_right)(int rank, const void *hello, size_t size);

    enum connector_state state;
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
    struct aead_keys keys;       /* of the connection, once DONE */
    struct handshake *handshake; /* NULL: it does not answer yet */
};

/* Begins to call the rank at `routes`, one after the other, `seconds` for each; sets the outcome of
 * each in `outcomes`, which stay the caller's, to a static text. `now`: seconds of a clock, the same
 * in all calls. */
void connector_begin(struct connector *call, const struct address *routes, const char **outcomes,
                     int count, double seconds, double now);
/* What poll() is to wait for; fd -1: nothing. */
struct pollfd connector_watch(const struct connector *call);
/* After poll(); returns the new state. */
enum connector_state connector_step(struct connector *call, short events, double now);
/* The owner has taken the socket; the state is NONE again. */
void connector_taken(struct connector *call);
void connector_drop(struct connector *call);

#endif
