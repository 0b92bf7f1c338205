/*
 * inquiry.c - which device's driver a thread asks, and since when.
 */
#include "host/host.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

void inquiry_init(struct inquiry *inquiry, const char *devices)
{
    *inquiry = (struct inquiry){.lock = PTHREAD_MUTEX_INITIALIZER, .since = clock_seconds()};
    snprintf(inquiry->device, sizeof inquiry->device, "%s", devices);
}

void inquiry_asks(struct inquiry *inquiry, const char *kind, const char *name, const char *bus)
{
    if (!inquiry)
        return;
    bool has_address = bus[0] && strcmp(bus, name) != 0;
    pthread_mutex_lock(&inquiry->lock);
    snprintf(inquiry->device, sizeof inquiry->device, "%s %s%s%s%s", kind, name,
             has_address ? " (" : "", has_address ? bus : "", has_address ? ")" : "");
    inquiry->since = clock_seconds();
    pthread_mutex_unlock(&inquiry->lock);
}

double inquiry_seconds(struct inquiry *inquiry)
{
    pthread_mutex_lock(&inquiry->lock);
    double since = inquiry->since;
    pthread_mutex_unlock(&inquiry->lock);
    return clock_seconds() - since;
}

const char *inquiry_text(struct inquiry *inquiry, const char *host, char text[INQUIRY_TEXT_MOST])
{
    double seconds = inquiry_seconds(inquiry);
    pthread_mutex_lock(&inquiry->lock);
    snprintf(text, INQUIRY_TEXT_MOST, "the driver of %s of host %s has not answered for %.*f s",
             inquiry->device, host, seconds < 10 ? 1 : 0, seconds);
    pthread_mutex_unlock(&inquiry->lock);
    return text;
}
