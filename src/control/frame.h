/*
 * frame.h - messages of a known length over a non-blocking socket.
 *
 * A frame is four bytes of length, four that say which rank speaks, one byte of type, and that many
 * bytes of content, all sealed but the length (see aead.h). It may have come through other ranks,
 * so who speaks need not be who sent it. What cannot be sent yet waits in memory, so that the
 * helper thread never blocks on a peer.
 */
#ifndef CCTEST_CONTROL_FRAME_H
#define CCTEST_CONTROL_FRAME_H

#include "base/bytes.h"
#include "net/aead.h"

#define FRAME_MOST ((size_t)64 << 20) /* bytes of one frame's content */

enum frame_type {
    FRAME_WELCOME = 1, /* from rank 0: all have joined; who they are */
    FRAME_REFUSED,     /* from rank 0: the job does not begin; why */
    FRAME_HEARTBEAT,   /* both ways: I live (and this is what I am doing) */
    FRAME_SHARE,       /* to rank 0: my part of an exchange */
    FRAME_RESULT,      /* from rank 0: what the exchange gave */
    FRAME_FAILED,      /* to rank 0: my failure */
    FRAME_FINISHED,    /* to rank 0: I am through, with this status */
    FRAME_VERDICT,     /* from rank 0: the job has ended, with this status */
    FRAME_GOODBYE,     /* to rank 0: I know that the job has ended; my closing is no loss */
    FRAME_REDIRECT,    /* from rank 0: who has a place, and where that rank listens */
    FRAME_ATTACHED,    /* to rank 0: I have a parent now */
    FRAME_LOST,        /* to rank 0, in the name of a rank whose connection to its parent broke */
    FRAME_RETURNED,    /* to rank 0: my parent speaks again; you may close this connection */
    FRAME_ISOLATED,    /* from a parent: it cannot reach rank 0 any more; why */
    FRAME_LATE,        /* from rank 0: nobody has progressed for the timeout; the verdict follows */
    FRAME_TYPES
};

struct frame {
    int type, rank; /* whose words they are */
    const unsigned char *data;
    size_t size;
};

enum frame_state {
    FRAME_PART,   /* more bytes are needed */
    FRAME_WHOLE,  /* *frame is set */
    FRAME_BAD,    /* no peer of ours sends this */
    FRAME_FORGED, /* the peer did not send this: the connection is as good as broken */
};

struct wire {
    int fd;
    struct aead_keys seals;
    struct bytes in, out;
    size_t sealed; /* bytes of `out` that are; those behind them wait as they were put */
    size_t sent;   /* bytes of `out` that have left */
    size_t taken;  /* bytes of `in` that were given out as frames */
};

/* From now on it goes over this socket, with the seals that the handshake there gave; what was put
 * before, and was not under way elsewhere, goes first. Takes the socket. */
void wire_connect(struct wire *wire, int fd, const struct aead_keys *seals);
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
