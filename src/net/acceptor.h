/*
 * acceptor.h - listeners, and those who have connected there and not proved themselves yet.
 *
 * Anybody can connect. Each guest has a few seconds to prove that it knows the secret, and nobody
 * waits for it meanwhile. When there is no place or descriptor for one more, the oldest is turned
 * out, if it has had its moment; else further ones wait in the kernel's queue.
 */
#ifndef CCTEST_NET_ACCEPTOR_H
#define CCTEST_NET_ACCEPTOR_H

#include <poll.h>
#include <stdatomic.h>

#include "net/address.h"
#include "net/handshake.h"

/* Takes the socket of who has proved itself, and returns NULL; or says why it is a stranger all the
 * same, in the past tense ("sent nonsense"). The handshake is the door's. */
typedef const char *acceptor_admit(void *argument, int fd, const struct handshake *handshake);

struct acceptor {
    struct listeners *listeners; /* stay the owner's */
    const unsigned char *secret;
    const char *purpose; /* as in handshake_create() */
    unsigned char hello[HANDSHAKE_HELLO_MOST];
    size_t hello_size;
    double seconds; /* that a guest has */
    int most;       /* guests at the same time; 0: nobody else comes in */
    int spare;      /* a descriptor to give up when there are no more, for one last guest; or -1 */
    acceptor_admit *admit;
    void *argument;
    _Atomic uint64_t *strangers; /* counts those who were dropped */

    struct pending *pending; /* in the order in which they came */
    int count;
    bool exhausted; /* there was no descriptor for who knocked, and no guest to turn out */
    double pause_until;
    char last_stranger[160]; /* for a human; "" if there was none */
};

/* All above `guests` is set, and there will be room for `most`, which may be lowered later. Allowed
 * again after a while without service, with a `most` of no less than there are guests: their time
 * begins anew. False: out of memory. `now`: in seconds, by any clock, but always by the same. */
bool acceptor_open(struct acceptor *acceptor, double now);
/* Adds what it waits for to `set`; returns how many: one for each listener and guest. */
int acceptor_watch(const struct acceptor *acceptor, struct pollfd *set, double now);
/* Serves them after poll(). */
void acceptor_serve(struct acceptor *acceptor, const struct pollfd *set, double now);
/* Drops the oldest guest; false: there is none. */
bool acceptor_turn_out(struct acceptor *acceptor, const char *why);
/* Drops all, without a count. Allowed more than once, also in acceptor_admit. */
void acceptor_close(struct acceptor *acceptor);

#endif
