/*
 * acceptor.h - accepts connections and authenticates them, without blocking.
 *
 * Any process can connect. Each pending connection has a few seconds to prove that it knows the
 * secret. When the table or the descriptors are full, the oldest pending connection is dropped,
 * unless it is younger than YIELD_SECONDS. New ones then wait in the backlog.
 */
#ifndef CCTEST_BASE_NET_ACCEPTOR_H
#define CCTEST_BASE_NET_ACCEPTOR_H

#include <poll.h>
#include <stdatomic.h>

#include "base/net/address.h"
#include "base/net/handshake.h"

/* Takes the socket of an authenticated connection and returns NULL; or returns why the
 * connection is to be dropped, in the past tense ("sent an invalid request"). The handshake
 * stays the acceptor's. */
typedef const char *acceptor_admit(void *argument, int fd, const struct handshake *handshake);

struct acceptor {
    struct listeners *listeners; /* stay the owner's */
    const unsigned char *secret;
    const char *purpose; /* as in handshake_create() */
    unsigned char hello[HANDSHAKE_HELLO_MOST];
    size_t hello_size;
    double seconds; /* that a connection may be pending */
    int most;       /* pending connections at a time; 0: accepts no more */
    int spare;      /* a descriptor to close when none are left, for one last connection; or -1 */
    acceptor_admit *admit;
    void *argument;
    _Atomic uint64_t *rejected; /* counts dropped connections */

    struct pending *pending; /* the oldest first */
    int count;
    bool exhausted; /* a connection found no descriptor, and none was pending to be dropped */
    double pause_until;
    char last_rejected[160]; /* the last one dropped, for the user; "": none */
};

/* The fields above `pending` are set; `most` may be lowered later. May be called again after a
 * pause, with `most` at least `count`: the time of pending connections begins anew. `now`:
 * seconds of a clock, the same in all calls. False: out of memory. */
bool acceptor_open(struct acceptor *acceptor, double now);

/* Fills `set` for poll(), one entry for each listener and pending connection; returns their
 * number. */
int acceptor_watch(const struct acceptor *acceptor, struct pollfd *set, double now);

/* After poll(): accepts connections and goes on with their handshakes. */
void acceptor_serve(struct acceptor *acceptor, const struct pollfd *set, double now);

/* Drops the oldest pending connection; false: there is none. */
bool acceptor_drop_oldest(struct acceptor *acceptor, const char *why);

/* Drops all pending connections, uncounted. Allowed more than once, also in acceptor_admit. */
void acceptor_close(struct acceptor *acceptor);

#endif
