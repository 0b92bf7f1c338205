/*
 * frame.h - messages of a known length over a non-blocking socket.
 *
 * A frame is four bytes of length, four that name the rank that it comes from, one byte of type,
 * and that many bytes of content, all encrypted but the length (see aead.h). A frame may pass
 * through other ranks, so the rank that it comes from need not be the one at the other end. What
 * cannot be sent yet waits in memory, so that the helper thread never blocks on a peer.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_FRAME_H
#define CCTEST_CONTROLPLANE_CONTROL_FRAME_H

#include "base/bytes.h"
#include "base/net/aead.h"

#define FRAME_MOST ((size_t)64 << 20) /* bytes of one frame's content */

/* A number keeps its meaning: a frame that went leaves a gap, and a new one gets the next. */
enum frame_type {
    FRAME_WELCOME = 1, /* from rank 0: all have joined; the list of them */
    FRAME_REFUSED,     /* from rank 0: the job does not begin; why */
    FRAME_HEARTBEAT,   /* both ways: I live; to rank 0: and this is my progress */
    FRAME_SHARE,       /* to rank 0: my part of an exchange */
    FRAME_RESULT,      /* from rank 0: what the exchange gave */
    FRAME_FAILED,      /* to rank 0: my failure */
    FRAME_FINISHED,    /* to rank 0: I am through, with this status */
    FRAME_VERDICT,     /* from rank 0: the job has ended, with this status */
    FRAME_GOODBYE,     /* to rank 0: I know that the job has ended; my closing is no loss */
    FRAME_REDIRECT,    /* from rank 0: the parent, and where it listens */
    FRAME_ATTACHED,    /* to rank 0: I am connected to my parent (perhaps rank 0 itself) */
    FRAME_LOST,       /* to rank 0, in the name of a rank whose connection to its parent broke; with
                          a byte: it carried data that failed authentication */
    FRAME_RETURNED,   /* to rank 0: my parent speaks again; you may close this connection */
    FRAME_ISOLATED,   /* from a parent: it cannot reach rank 0 any more; why */
    FRAME_LATE = 16,  /* from rank 0: no rank has progressed for the timeout; the verdict follows */
    FRAME_DELIVERY,   /* from rank 0, to one rank: what the exchange gave for it alone */
    FRAME_POSTMORTEM, /* to rank 0, after the job has failed: what I can add */
    FRAME_MAXIMA,     /* to rank 0: the part of some ranks in an exchange of maxima */
    FRAME_AGENT,      /* of a fleet, to rank 0: where my workers listen */
    FRAME_ORDER,      /* of a fleet, from rank 0, to one agent: start a worker */
    FRAME_CANCEL,     /* of a fleet, from rank 0, to one agent: end that worker */
    FRAME_REPORT,     /* of a fleet, to rank 0: my worker has ended */
    FRAME_TYPES
};

struct frame {
    int type, rank; /* that it comes from */
    const unsigned char *data;
    size_t size;
};

enum frame_state {
    FRAME_PART,   /* more bytes are needed */
    FRAME_WHOLE,  /* *frame is set */
    FRAME_BAD,    /* no rank sends this */
    FRAME_FORGED, /* it failed authentication: the connection counts as broken */
};

/* What is said of data in that state. */
#define FORGED                                                                                     \
    "failed authentication (changed on the way by a faulty NIC, by memory, or by an attacker)"

struct wire {
    int fd;
    struct aead_keys keys;
    struct bytes in, out;
    size_t encrypted; /* bytes of `out` that are encrypted; the ones behind them wait */
    size_t sent;      /* bytes of `out` that have left */
    size_t taken;     /* bytes of `in` that were given out as frames */
};

/* From now on it goes over this socket, with the keys that the handshake there gave; what was put
 * before, and was not under way elsewhere, goes first. Takes the socket. */
void wire_connect(struct wire *wire, int fd, const struct aead_keys *keys);
/* Queues a frame; false: it is larger than FRAME_MOST, or memory ran out. */
bool wire_put(struct wire *wire, int rank, int type, const void *data, size_t size);
/* Is there anything that has not been sent? */
bool wire_pending(const struct wire *wire);
/* Sends what the socket takes now; false: the connection is broken. */
bool wire_flush(struct wire *wire);
/* Receives what is there now; false: the connection is closed or broken (frames that came before
 * can still be taken). */
bool wire_fill(struct wire *wire);
/* The next frame, valid until the next call. */
enum frame_state wire_take(struct wire *wire, struct frame *frame);
void wire_close(struct wire *wire); /* socket and memory; fd -1 is allowed */

#endif
