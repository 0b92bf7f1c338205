/*
 * verdict.h - whose fault it is: from what rank 0 knows of all ranks to a sentence for the user.
 *
 * Pure: it gets what rank 0 knows, and words the report. Either some ranks were lost or have failed
 * (the causes), or nobody has progressed for too long; then each rank waits for the peer of the
 * operation that it is in, and the root of that wait-for graph is who is to be named.
 */
#ifndef CCTEST_VERDICT_VERDICT_H
#define CCTEST_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "verdict/rank_state.h"

/* What rank 0 knows of a rank. */
struct standing {
    struct progress_snapshot snapshot;
    double silent;        /* seconds since its last sign of life, */
    int parent;           /* which came through this rank; 0: through none */
    bool finished;        /* it is through and waits for the others */
    const char *exchange; /* it is in this call of the control plane ("a barrier"); NULL: in none */
};

enum cause_kind {
    CAUSE_LOST,        /* the connection to the rank broke */
    CAUSE_FAILED,      /* the rank said so */
    CAUSE_INTERRUPTED, /* a signal asked it to end */
};
struct cause {
    enum cause_kind kind;
    int rank;
    enum status status;
    char message[1024]; /* FAILED, INTERRUPTED: its words */
};

struct situation {
    int ranks;
    const struct member *members;
    const struct standing *standings;
    const struct cause *causes;    /* in the order in which they came */
    int cause_count;               /* 0: nobody has progressed for too long, */
    bool late;                     /* and if so there may be some that came of it */
    double stalled;                /* seconds in which nobody has progressed; 0: some have */
    double heartbeat;              /* seconds; a living rank gives a sign of life that often */
    const char *const *algorithms; /* names by index, NULL where unknown */
    int algorithm_count;
};

#define VERDICT_LINES_MOST 16 /* ranks that are told one by one, after the first line */

struct verdict {
    enum status status;
    char headline[1024];                      /* the root of it all */
    char lines[VERDICT_LINES_MOST + 1][1024]; /* what else there is to know */
    int line_count;
    struct job_error errors[VERDICT_LINES_MOST + 1]; /* the root first */
    int error_count;
};

void verdict_reach(const struct situation *situation, struct verdict *verdict);

#endif
