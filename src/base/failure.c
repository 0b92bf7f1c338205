/*
 * failure.c - what went wrong on a rank: as numbers, and as a sentence for the user.
 */
#include "base/failure.h"

#include <stdio.h>
#include <string.h>

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

/* FNV-1a: the same number on every rank, whatever addresses its process has. */
static uint32_t text_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

void failure_print(struct failure *failure, const char *format, va_list arguments)
{
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    failure->site = text_hash(strcmp(format, "%s") == 0 ? failure->text : format);
}

void failure_set(struct failure *failure, enum status status, const char *format, ...)
{
    va_list arguments;
    *failure = (struct failure){.status = status, .peer = NO_RANK};
    va_start(arguments, format);
    failure_print(failure, format, arguments);
    va_end(arguments);
}

void failure_set_peer(struct failure *failure, enum failure_reason reason, int peer,
                      const char *format, ...)
{
    va_list arguments;
    *failure =
        (struct failure){.status = failure_peer_status(reason), .reason = reason, .peer = peer};
    va_start(arguments, format);
    failure_print(failure, format, arguments);
    va_end(arguments);
}
