/*
 * status.h - how a thing ended, in one type for the whole program.
 *
 * The values are the exit statuses that users and scripts see. A function that can fail returns one
 * of them. Whoever detects a failure records it once, with fail() of log.h, and everybody above
 * only passes the status on.
 */
#ifndef CCTEST_BASE_STATUS_H
#define CCTEST_BASE_STATUS_H

enum status {
    STATUS_OK = 0,
    STATUS_ERROR = 1,        /* something failed at run time */
    STATUS_USAGE = 2,        /* the command line asks for what cannot be */
    STATUS_WRONG_DATA = 3,   /* a result was not what the contract says */
    STATUS_SLOW = 4,         /* slower than --min-busbw */
    STATUS_TIMEOUT = 5,      /* nobody progressed for the deadline, or a rank was lost */
    STATUS_UNAVAILABLE = 77, /* a backend that was asked for is not here */
    STATUS_INTERRUPTED = 130 /* ended by the user */
};

/* The graver of two statuses: interrupted, 5, 1, 3, 4 in this order; usage and unavailable end a
 * job before it starts and come before 3. */
enum status status_graver(enum status a, enum status b);

/* The status that a number from elsewhere stands for; STATUS_ERROR where there is none of it. */
enum status status_of(long value);

/* The word that JSON carries: "ok", "error", "usage", "wrong-data", "slow", "timeout",
 * "unavailable", "interrupted". */
const char *status_word(enum status status);

#endif
