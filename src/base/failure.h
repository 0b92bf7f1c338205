/*
 * failure.h - what went wrong on a rank: as numbers, by which the failures of several ranks are
 * compared, and as a sentence for the user.
 */
#ifndef CCTEST_BASE_FAILURE_H
#define CCTEST_BASE_FAILURE_H

#include <stdarg.h>

#include "base/status.h"

#define MESSAGE_MOST 1024 /* bytes of a sentence for the user, with its 0 */
#define OPTIONS_TEXT 80   /* of the names of options, */
#define FILE_TEXT    201  /* of a file's path, which sentences cut, */
#define PLACE_TEXT   304  /* and of a place in it */
#define NO_RANK      (-1)

enum failure_reason {
    REASON_OWN,              /* no other rank is known to be the cause */
    REASON_PEER_LOST,        /* the peer died, or the connection to it broke */
    REASON_PEER_LATE,        /* the peer did not answer in time */
    REASON_PEER_UNREACHABLE, /* no transport connects to the peer */
    REASON_PEER_INVALID,     /* the peer sent invalid data */
    FAILURE_REASONS
};

/* The input that a failure is about. A sentence begins with the file and the place in it:
 *
 *     FILE:LINE: it has no end            FILE, PART: it has no end
 *     FILE: KEY is missing                FILE, PART: KEY is missing
 *
 * Each member may be NULL or 0. */
struct failure_place {
    const char *options; /* long names of options, apart by blanks: "min-bytes max-bytes" */
    const char *file;
    int line;         /* from 1 */
    const char *part; /* of the file, in words; or the place of a value whose text is read on */
    const char *key;  /* of JSON: "links[2].port" */
};

struct failure {
    enum status status; /* STATUS_OK: there is none */
    enum failure_reason reason;
    int peer;                   /* the rank that is the reason; NO_RANK for REASON_OWN */
    char options[OPTIONS_TEXT]; /* of struct failure_place; "" and 0 where they are not known */
    char file[FILE_TEXT];
    int line;
    char place[PLACE_TEXT];  /* the key, or else the part */
    char text[MESSAGE_MOST]; /* one sentence: where, what, why, what to do */
};

/* A failure of this rank itself. */
void failure_set(struct failure *failure, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One whose reason is `peer`; `reason` gives the status: STATUS_TIMEOUT for LOST and LATE,
 * STATUS_UNAVAILABLE for UNREACHABLE, STATUS_ERROR for INVALID. */
void failure_set_peer(struct failure *failure, enum failure_reason reason, int peer,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The common part of all of them: `peer` NO_RANK for REASON_OWN; `place` NULL: not known. */
struct failure failure_make(enum status status, enum failure_reason reason, int peer,
                            const struct failure_place *place, const char *format,
                            va_list arguments) __attribute__((format(printf, 5, 0)));

/* The status of a failure for which a peer is the reason. */
enum status failure_peer_status(enum failure_reason reason);

#endif
