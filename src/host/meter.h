/*
 * meter.h - reads the counters of a device.
 */
#ifndef CCTEST_HOST_METER_H
#define CCTEST_HOST_METER_H

#include "host/counters.h"

/* Belongs to one device. A kind of meter may count by itself, from when it was opened. */
struct meter {
    /* Adds the counters, as they are now. Called between measurements only, by one thread at a
     * time. Both may block, for ever if the driver hangs. */
    void (*read)(struct meter *meter, struct counter_list *list);
    void (*close)(struct meter *meter);
};

/* A meter that calls `read` with the name of the device, which it copies. NULL: out of memory. */
struct meter *meter_open(const char *device,
                         void (*read)(const char *device, struct counter_list *list));

#endif
