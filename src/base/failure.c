/*
 * failure.c - what went wrong on a rank: as numbers, and as a sentence for the user.
 */
#include "base/failure.h"

#include "base/text.h"

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

/* Notes the place, and begins the sentence with it. */
static void place_put(const struct failure_place *place, struct failure *failure)
{
    const char *part = place->part ? place->part : "", *key = place->key ? place->key : "";
    struct text text = text_in(failure->text, sizeof failure->text);
    snprintf(failure->options, sizeof failure->options, "%s", place->options ? place->options : "");
    snprintf(failure->place, sizeof failure->place, "%s", *key ? key : part);
    if (!place->file)
        return;
    snprintf(failure->file, sizeof failure->file, "%s", place->file);
    failure->line = place->line;
    text_add(&text, "%s", failure->file);
    if (place->line > 0)
        text_add(&text, ":%d", place->line);
    if (*part)
        text_add(&text, ", %s", part);
    text_add(&text, ": ");
    if (*key)
        text_add(&text, "%s ", key);
}

struct failure failure_make(enum status status, enum failure_reason reason, int peer,
                            const struct failure_place *place, const char *format,
                            va_list arguments)
{
    struct failure failure = {.status = status, .reason = reason, .peer = peer};
    if (place)
        place_put(place, &failure);
    size_t used = strlen(failure.text);
    vsnprintf(failure.text + used, sizeof failure.text - used, format, arguments);
    return failure;
}

void failure_set(struct failure *failure, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *failure = failure_make(status, REASON_OWN, NO_RANK, NULL, format, arguments);
    va_end(arguments);
}

void failure_set_peer(struct failure *failure, enum failure_reason reason, int peer,
                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *failure = failure_make(failure_peer_status(reason), reason, peer, NULL, format, arguments);
    va_end(arguments);
}
