/*
 * device_watch.h - what the devices of a rank have counted since it last looked.
 *
 * A device is a NIC of a transport, or a GPU of a kind of memory. Counters are read between lines
 * of the table only. Each reading ends a line and begins the next one, so no count is lost between
 * the two. Of the ranks of a host that have opened a device, the first one reads it, so that
 * nothing is counted twice.
 *
 * The order of calls: device_watch_open, device_watch_encode; an exchange; device_watch_decode for
 * the share of each rank; device_watch_begin; device_watch_take after each line.
 */
#ifndef CCTEST_MEASURE_DEVICE_WATCH_H
#define CCTEST_MEASURE_DEVICE_WATCH_H

#include "device/counters.h"
#include "transport/transport.h"

struct links;
struct memory_kind;

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

struct watched_device {
    char name[DEVICE_NAME_MOST];
    const struct transport *transport; /* NULL: the device is the memory's */
    struct meter *(*device_meter)(const char *device);
    struct meter *meter; /* NULL: it is not open, or there is none */
    bool reads;          /* this rank reads its counters */
    uint64_t sent;       /* payload bytes that this rank sent by it, at the last look */
    struct counter_list counters;
};

struct device_watch {
    struct links *links; /* NULL: they are not asked for what they have sent */
    struct watched_device *devices;
    int count;
};

/* Notes the devices of all open endpoints, and of the rank's memory. */
enum status device_watch_open(struct device_watch *watch, struct links *links,
                              const struct memory_kind *memory);
void device_watch_close(struct device_watch *watch); /* all zero is allowed */

/* The names of this rank's devices. */
void device_watch_encode(const struct device_watch *watch, struct bytes *share);
/* The names of another rank's. `precedes`: that rank is of this host, and comes before this one.
 * False: invalid. */
bool device_watch_decode(struct device_watch *watch, bool precedes, struct reader *reader);

/* Opens the meters, and reads them for the first time. */
void device_watch_begin(struct device_watch *watch);

/* Reads them again. *changes: what each device that this rank reads has counted since, gauges, and
 * PAYLOAD_SENT, the bytes that this rank has sent by it; of an earlier call, it is freed. Out of
 * memory: counters are missing. */
#define PAYLOAD_SENT "payload_sent"
void device_watch_take(struct device_watch *watch, struct device_changes *changes);

#endif
