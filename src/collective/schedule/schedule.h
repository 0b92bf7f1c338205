/*
 * schedule.h - one rank's program for one collective.
 *
 * A schedule is a list of operations on spans of three buffers. It means the same as running the
 * list from top to bottom. Its concurrency is inferred: the builder (builder.h) finds exactly which
 * operations conflict, and records the conflicts as waits. Interpreters (the executor, the
 * verifier, the shaker, the printer) read schedules and never change them.
 *
 * All offsets and lengths are in elements, so a schedule serves every datatype.
 *
 * Streaming. Every operation advances in ascending order of its message. An operation may touch its
 * element x as soon as every earlier conflicting operation has moved past the memory of x.
 * Streaming is free of deadlock for every slot size and grain if the schedule completes with
 * unbuffered channels and whole operations, and if (1) every lane has its own flow control, (2) all
 * operations are open at once, except where fences order them, and (3) waits are exact.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_SCHEDULE_H
#define CCTEST_COLLECTIVE_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective/collective.h"
#include "collective/schedule/limit.h"

/* `times` runs of `run` elements, the first at `offset`, their starts `stride` apart.
 * A contiguous span has times 1. */
struct span {
    enum buffer buffer;
    size_t offset, run, stride, times;
};

/* Where element `index` of a span lies in its buffer. */
static inline size_t span_element(const struct span *span, size_t index)
{
    return span->offset + index / span->run * span->stride + index % span->run;
}

/* The elements of its spans, in the order of the list. It is sent as one message. */
struct message {
    const struct span *spans;
    size_t count;
};

enum operation_kind {
    OPERATION_COPY,        /* to = from */
    OPERATION_REDUCE,      /* to = from (+) with */
    OPERATION_SEND,        /* the next message to `peer` on `lane` is from */
    OPERATION_RECV,        /* to = the next message from `peer` on `lane` */
    OPERATION_RECV_REDUCE, /* to = with (+) the next message from `peer` on `lane` */
    OPERATION_FINISH,      /* to = the operator's last step on from (avg: divide by the ranks) */
};

struct operation {
    enum operation_kind kind;
    int peer;                 /* rank of the job, for send, recv, recv_reduce; else -1 */
    int lane;                 /* for send, recv, recv_reduce; else 0 */
    int step;                 /* label of the round, from 0 */
    uint32_t epoch;           /* index of its epoch */
    uint32_t channel;         /* its channel; those of one channel stand together, in order */
    size_t length;            /* elements of the message; never 0 */
    struct message to;        /* written; equal to from or with, or disjoint from both */
    struct message from;      /* read */
    struct message with;      /* read */
    const struct wait *waits; /* ascending `at`; they overlap where several E touch one element */
    size_t wait_count;
};

/* Fences cut the operations of a scope (a channel) into epochs. The operations of an epoch may
 * start when all operations of the epochs before it in its scope are complete. */
struct epoch {
    int previous, next;      /* epoch index, -1: none */
    uint32_t operations;     /* number of its operations; never 0 */
    const uint32_t *members; /* their indices, ascending */
};

struct schedule {
    struct problem problem;
    int rank;               /* of the problem */
    size_t extent[BUFFERS]; /* elements */
    /* Where buffers lie: storage number and element offset. In place, source and destination share
     * a storage; otherwise storage[b] = b and base[b] = 0. */
    int storage[BUFFERS];
    size_t base[BUFFERS];
    const struct operation *operations;
    size_t count;
    const struct epoch *epochs;
    size_t epoch_count;
    int lanes;    /* lanes that any rank's schedule of this problem may use: 0 .. lanes - 1 */
    int channels; /* slices of every block, each with operations and lanes of its own */
    int steps;    /* rounds: the number of step labels on this rank */
    const int *lines; /* of the file that the operations stand in; NULL: they have none */
    struct arena *memory; /* owns everything above */
};

/* How far `operation` may go, when each earlier operation e has moved past done[e] of its elements.
 * The result and done[] are in units of 1/`unit` elements: pass the element size to work in bytes,
 * 1 for elements. *first is the caller's cursor into the waits: 0 at the start, then moved past
 * waits that are satisfied for good. *waiting_for: the operation that holds this one back
 * (UINT32_MAX: none). Ignores fences and the order of messages on a lane. */
size_t operation_limit(const struct operation *operation, const size_t *done, size_t unit,
                       size_t *first, uint32_t *waiting_for);

/* Elements of a message. */
size_t message_length(struct message message);

/* Bytes of each storage that a schedule uses; in place the inner buffer is part of the outer. */
void schedule_bytes(const struct schedule *schedule, size_t element, size_t bytes[BUFFERS]);

/* The messages between a rank and one peer. */
struct peer_use {
    uint64_t sent, received; /* elements */
    size_t shortest;         /* elements of the shortest message */
    int lanes;               /* 1 + the highest lane; 0: there are no messages */
};

/* Adds the messages of `times` runs of a schedule to `use`, which has an entry for each rank.
 * `shortest` and `lanes` count even if `times` is 0. */
void schedule_add_peers(const struct schedule *schedule, uint64_t times, struct peer_use *use);

const char *operation_name(enum operation_kind kind); /* "recv_reduce" */
bool operation_travels(enum operation_kind kind);     /* send, recv or recv_reduce */

void schedule_free(struct schedule *schedule); /* NULL is allowed */

#endif
