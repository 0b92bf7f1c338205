/*
 * device_changes.h - what several devices have counted.
 */
#ifndef CCTEST_HOST_DEVICE_CHANGES_H
#define CCTEST_HOST_DEVICE_CHANGES_H

#include "host/counters.h"
#include "host/device.h"

/* What a device has counted. */
struct device_change {
    char name[DEVICE_NAME_MOST];
    struct counter_list counters;
};

struct device_changes {
    struct device_change *of;
    int count;
};

/* `classes`: the first of enum counter_class that travel. */
void device_changes_encode(const struct device_changes *changes, int classes, struct bytes *share);
/* Begins with *changes empty. False: invalid, or out of memory. */
bool device_changes_decode(struct device_changes *changes, struct reader *reader);
void device_changes_free(struct device_changes *changes); /* all zero is allowed */

/* The counters of a device of this name, which is added to the list, at most DEVICES_SENT_MOST.
 * NULL: there is no room. */
struct counter_list *device_changes_add(struct device_changes *changes, const char *name);

/* Appends what each device of `now` has counted since `before`, and leaves out gauges, and devices
 * that have counted nothing. */
void device_changes_since(const struct device_changes *before, const struct device_changes *now,
                          struct device_changes *grown);

#endif
