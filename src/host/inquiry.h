/*
 * inquiry.h - which device's driver a thread asks, and since when. A driver that hangs does not
 * return: another thread, which waits with a limit (base/timed_call.h), then names the device.
 */
#ifndef CCTEST_HOST_INQUIRY_H
#define CCTEST_HOST_INQUIRY_H

#include <pthread.h>

#define INQUIRY_DEVICE_MOST 128
#define INQUIRY_TEXT_MOST   320

/* What to do about a driver that hangs. */
#define INQUIRY_ADVICE                                                                             \
    "it hangs; look at the kernel's log (for Xid, of a GPU), then reset the device or restart "    \
    "the "                                                                                         \
    "host"

struct inquiry {
    pthread_mutex_t lock;
    char device[INQUIRY_DEVICE_MOST]; /* "GPU 0000:3b:00.0" */
    double since;                     /* clock_seconds() */
};

/* `devices`: what is asked before the first device is known, "the GPUs". */
void inquiry_init(struct inquiry *inquiry, const char *devices);

/* Called by the thread before it asks a device: "GPU", "port"; its name; its PCI address, or "".
 * NULL is allowed: none waits. */
void inquiry_asks(struct inquiry *inquiry, const char *kind, const char *name, const char *bus);

/* For how many seconds the device has been asked. */
double inquiry_seconds(struct inquiry *inquiry);

/* "the driver of GPU 0000:3b:00.0 of host n7 has not answered for 33 s". Returns `text`. */
const char *inquiry_text(struct inquiry *inquiry, const char *host, char text[INQUIRY_TEXT_MOST]);

#endif
