/*
 * status.h - the result of a call or a job: one type for the whole program.
 *
 * The values are the exit statuses that users and scripts see. A function that can fail returns one
 * of them. The function that detects a failure records it once, with fail() of log.h; its callers
 * pass the status on.
 */
#ifndef CCTEST_BASE_STATUS_H
#define CCTEST_BASE_STATUS_H

#include <stdbool.h>

enum status {
    STATUS_OK = 0,
    STATUS_ERROR = 1,        /* something failed at run time */
    STATUS_USAGE = 2,        /* the command line is invalid */
    STATUS_WRONG_DATA = 3,   /* a result contradicts the contract of its collective */
    STATUS_SLOW = 4,         /* slower than --min-busbw */
    STATUS_TIMEOUT = 5,      /* no rank progressed for the deadline, or a rank was lost */
    STATUS_UNAVAILABLE = 77, /* a requested backend is missing */
    STATUS_INTERRUPTED = 130 /* ended by the user */
};

/* Returns the status of a call from the calling function, unless it is STATUS_OK. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum status tried = (call);                                                                \
        if (tried != STATUS_OK)                                                                    \
            return tried;                                                                          \
    } while (0)

/* The worse of two statuses: interrupted, 5, 1, 3, 4 in this order; usage and unavailable end a
 * job before it starts and come before 3. */
enum status status_worse(enum status a, enum status b);

/* Does a job with this status have all its results, be they wrong or slow? */
bool status_is_whole(enum status status);

/* The status of a number that was received; STATUS_ERROR for unknown numbers. */
enum status status_of(long value);

/* The word for JSON: "ok", "error", "usage", "wrong-data", "slow", "timeout",
 * "unavailable", "interrupted". */
const char *status_word(enum status status);

#endif
