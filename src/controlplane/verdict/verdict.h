/*
 * verdict.h - which fault is the first: from what rank 0 knows of all ranks to a sentence for the
 * user.
 *
 * Pure. Either some ranks were lost or have failed (the causes), or the deadline has passed without
 * progress: then each rank waits for a peer, and the root of the wait-for graph is named.
 */
#ifndef CCTEST_CONTROLPLANE_VERDICT_VERDICT_H
#define CCTEST_CONTROLPLANE_VERDICT_VERDICT_H

#include <stdbool.h>

#include "base/failure.h"
#include "base/rank_state.h"

/* ---- What rank 0 knows of the ranks of a job, and the verdict that follows from it.
 * Types only.
 * ---- */

/* Rank 0's knowledge of one rank. */
struct standing {
    struct progress_snapshot snapshot;
    double silent;        /* seconds since its last heartbeat, */
    int parent;           /* which came through this rank; 0: it came directly */
    bool finished;        /* it has finished and waits for the others */
    const char *exchange; /* it is in this call of the control plane ("a barrier"); NULL: in none */
};

enum cause_kind {
    CAUSE_LOST,        /* the connection to the rank broke */
    CAUSE_FAILED,      /* the rank reported a failure */
    CAUSE_INTERRUPTED, /* a signal asked it to end */
};
struct cause {
    enum cause_kind kind;
    int rank;
    struct failure failure; /* LOST: its text is "", or what was seen of the connection */
};

/* Is the failure a consequence of something that happened to another rank, or on the way to it? */
static inline bool cause_is_consequence(const struct cause *cause)
{
    return cause->kind == CAUSE_FAILED && (cause->failure.reason == REASON_PEER_LOST ||
                                           cause->failure.reason == REASON_PEER_LATE ||
                                           cause->failure.reason == REASON_PEER_UNREACHABLE);
}

/* The rank whose loss or delay the failure reports; NO_RANK: none. Both ends of a pair that no
 * transport connects are equal, so neither waits for the other. */
static inline int cause_awaited(const struct cause *cause)
{
    return cause_is_consequence(cause) && cause->failure.reason != REASON_PEER_UNREACHABLE
               ? cause->failure.peer
               : NO_RANK;
}

struct situation {
    int ranks;
    const struct member *members;
    const struct standing *standings;
    const struct cause *causes;    /* in order of arrival, at most one of each rank */
    int cause_count;               /* 0: only the deadline has passed */
    bool late;                     /* the deadline has passed, and the causes may follow from it */
    double stalled;                /* seconds in which no rank has progressed; 0: some have */
    double heartbeat;              /* seconds between two heartbeats of a living rank, at most */
    const char *const *algorithms; /* names by index, NULL where unknown */
    int algorithm_count;
};

#define VERDICT_LINES_MOST 16 /* ranks that get a line of their own below the headline */

struct verdict {
    enum status status;
    char headline[MESSAGE_MOST];                      /* the root cause */
    char lines[VERDICT_LINES_MOST + 1][MESSAGE_MOST]; /* further facts */
    int line_count;
    struct job_error errors[VERDICT_LINES_MOST + 1]; /* the root cause first */
    int error_count;
};

void verdict_reach(const struct situation *situation, struct verdict *verdict);

#endif
