/*
 * pending.h - ranks made by hand, for the tests of the control plane.
 */
#ifndef CCTEST_TESTS_UNIT_PENDING_H
#define CCTEST_TESTS_UNIT_PENDING_H

#include <poll.h>
#include <sys/socket.h>

#include "controlplane/control/control.h"
#include "base/net/net.h"
#include "jobs.h"

/* The non-blocking socket of the next connection. */
static inline int pending_accept(const struct listeners *listeners)
{
    struct pollfd set[ADDRESSES_MOST];
    for (int i = 0; i < listeners->count; i++)
        set[i] = (struct pollfd){.fd = listeners->fd[i], .events = POLLIN};
    assert_true(poll(set, (nfds_t)listeners->count, 5000) > 0);
    int i = 0;
    while (!set[i].revents)
        i++;
    int fd = accept4(set[i].fd, NULL, NULL, SOCK_NONBLOCK);
    assert_true(fd >= 0);
    return fd;
}

/* Authenticates with the job's secret; returns the wire. */
static inline struct wire shake_hands(const struct job_of_ranks *job, int fd, bool accepts,
                                      const struct join_request *request)
{
    struct membership membership = membership_of(job, request->rank);
    unsigned char bytes[HANDSHAKE_HELLO_MOST];
    struct handshake *handshake = handshake_create(fd, accepts, membership.secret, "control", bytes,
                                                   join_request_encode(request, bytes));
    enum handshake_state state;
    while ((state = handshake_step(handshake)) == HANDSHAKE_PENDING) {
        struct pollfd set = {.fd = fd, .events = handshake_events(handshake)};
        poll(&set, 1, 1000);
    }
    assert_int_equal(HANDSHAKE_DONE, state);
    struct wire wire = {0};
    wire_connect(&wire, fd, handshake_keys(handshake));
    handshake_free(handshake);
    return wire;
}

/* Connects to `where` with this request, authenticates, and says that it has arrived. */
static inline struct wire pending_call(const struct job_of_ranks *job,
                                       const struct join_request *request,
                                       const struct address *where)
{
    struct wire wire = shake_hands(job, socket_connect(where, 0), false, request);
    if (request->reason != JOIN_ORPHANED)
        assert_true(wire_put(&wire, request->rank, FRAME_ATTACHED, NULL, 0) && wire_flush(&wire));
    return wire;
}

/* Accepts the next connection as rank `rank`. */
static inline struct wire pending_answer(const struct job_of_ranks *job,
                                         const struct listeners *listeners, int rank)
{
    struct membership membership = membership_of(job, rank);
    struct join_request request;
    join_request_fill(&request, &membership, "same");
    return shake_hands(job, pending_accept(listeners), true, &request);
}

/* The next frame that comes. */
static inline void pending_hear(struct wire *wire, struct frame *frame)
{
    bool open = true;
    while (wire_take(wire, frame) != FRAME_WHOLE) {
        struct pollfd set = {.fd = wire->fd, .events = POLLIN};
        assert_true(open);
        assert_int_equal(1, poll(&set, 1, 5000));
        open = wire_fill(wire);
    }
}

/* Reads on until a frame of this type comes. */
static inline void pending_await(struct wire *wire, int type, struct frame *frame)
{
    do
        pending_hear(wire, frame);
    while (frame->type != type);
}

#endif
