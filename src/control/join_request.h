/*
 * join_request.h - what a rank says of itself when it joins, and whether rank 0 can work with it.
 */
#ifndef CCTEST_CONTROL_JOIN_REQUEST_H
#define CCTEST_CONTROL_JOIN_REQUEST_H

#include "control/control.h"
#include "net/handshake.h"

/* Why a rank comes to rank 0. */
enum arrival {
    ARRIVAL_FIRST,
    ARRIVAL_AGAIN,    /* the parent that it was sent to could not be reached */
    ARRIVAL_ORPHANED, /* its parent does not speak any more */
    ARRIVALS
};

struct hello {
    char version[32];
    int ranks, rank;
    char host[64];
    char boot[40]; /* tells hosts of the same name apart */
    long pid;
    unsigned char digest[32]; /* of the whole text of the options */
    char options[600];        /* its beginning */
    struct home home;         /* where it listens for ranks to be below it; count 0: nowhere */
    enum arrival arrival;
};

/* All but where it listens, which is left at nowhere, and why it comes. */
void hello_fill(struct hello *hello, const struct membership *membership, const char *options);
/* Writes at most HANDSHAKE_HELLO_MOST bytes; returns how many. */
size_t hello_encode(const struct hello *hello, unsigned char *bytes);
bool hello_decode(const void *bytes, size_t size, struct hello *hello);

/* Are both of one process? */
bool hello_same(const struct hello *a, const struct hello *b);
/* Can rank 0, which is `root`, work with `guest`? If not: a sentence for both, and the status. */
enum status hello_check(const struct hello *root, const struct hello *guest, char *refusal,
                        size_t size);

#endif
