/*
 * failure.c - what went wrong on a rank: as numbers, and as a sentence for the user.
 */
#include "base/failure.h"

#include <stdio.h>

enum status failure_peer_status(enum failure_reason reason)
{
    switch (reason) {
    case REASON_PEER_LOST:
    case REASON_PEER_LATE:
        return STATUS_TIMEOUT;
    case REASON_PEER_UNREACHABLE:
        return STATUS_UNAVAILABLE;
    default:
        return STATUS_ERROR;
    }
}

struct failure failure_make(enum status status, enum failure_reason reason, int peer,
                            const char *format, va_list arguments)
{
    struct failure failure = {.status = status, .reason = reason, .peer = peer};
    vsnprintf(failure.text, sizeof failure.text, format, arguments);
    return failure;
}

void failure_set(struct failure *failure, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *failure = failure_make(status, REASON_OWN, NO_RANK, format, arguments);
    va_end(arguments);
}

void failure_set_peer(struct failure *failure, enum failure_reason reason, int peer,
                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *failure = failure_make(failure_peer_status(reason), reason, peer, format, arguments);
    va_end(arguments);
}
