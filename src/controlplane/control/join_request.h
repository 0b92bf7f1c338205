/*
 * join_request.h - what a rank sends to join: version, rank, host and options; and whether it fits.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_JOIN_REQUEST_H
#define CCTEST_CONTROLPLANE_CONTROL_JOIN_REQUEST_H

#include "base/host.h"
#include "base/status.h"
#include "controlplane/control/membership.h"
#include "base/net/address.h"
#include "base/net/handshake.h"

#define CONTROL_PURPOSE "control" /* of connections whose hellos are join requests (handshake.h) */

/* Why a rank calls rank 0. */
enum join_reason {
    JOIN_FIRST,
    JOIN_AGAIN,    /* the parent that it was sent to could not be reached */
    JOIN_ORPHANED, /* its parent is silent or gone */
    JOIN_REASONS
};

struct join_request {
    char version[32];
    int ranks, rank;
    struct host_id host;
    long pid;
    unsigned char digest[32]; /* of the whole text of the options */
    char options[600];        /* its beginning */
    struct address_list home; /* where it listens for ranks to be below it; count 0: nowhere */
    enum join_reason reason;
};

/* All but where it listens, which is left at nowhere, and why it comes. */
void join_request_fill(struct join_request *request, const struct membership *membership,
                       const char *options);
/* Writes at most HANDSHAKE_HELLO_MOST bytes; returns how many. */
size_t join_request_encode(const struct join_request *request, unsigned char *bytes);
bool join_request_decode(const void *bytes, size_t size, struct join_request *request);

/* Is the hello a join request of `rank`? */
bool join_request_is_of(int rank, const void *hello, size_t size);

/* Are both of the same process? */
bool join_request_same(const struct join_request *a, const struct join_request *b);
/* Does `pending` fit rank 0, which is `root`? If not: a sentence for both, and the status. */
enum status join_request_check(const struct join_request *root, const struct join_request *pending,
                               char *refusal, size_t size);

#endif
