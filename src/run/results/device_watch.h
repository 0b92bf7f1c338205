/*
 * device_watch.h - the devices of a rank: their facts, and what they have counted since it last
 * looked.
 *
 * A device is a NIC of a transport, or a GPU of a kind of memory. Facts are read once, before the
 * ranks connect. Counters are read between lines of the table only. Each reading ends a line and
 * begins the next one, so no count is lost between the two. Of the ranks of a host that have opened
 * a device, the first one reads its counters, so that nothing is counted twice.
 *
 * Drivers are asked in a thread of its own, which has ended when a call returns: none runs beside
 * iterations. A driver may hang. The rank then fails with a sentence that names the device, and the
 * watch is lost: the thread has it for good, and all further calls do nothing.
 *
 * The order of calls: device_watch_open, device_watch_encode; an exchange; device_watch_decode for
 * the share of each rank; device_watch_encode_facts; device_watch_begin; device_watch_take after
 * each line.
 */
#ifndef CCTEST_RUN_RESULTS_DEVICE_WATCH_H
#define CCTEST_RUN_RESULTS_DEVICE_WATCH_H

#include "host/device_changes.h"
#include "dataplane/transport/transport.h"

struct links;
struct memory_kind;
struct memory_device;
struct tick;

struct watch_config {
    struct links *links;
    const struct memory_kind *memory;
    const struct memory_device *device; /* that has the rank's memory; it is copied */
    const char *host;
    const struct tick *tick;
};

enum watch_state { WATCH_CLOSED, WATCH_OPEN, WATCH_LOST };

struct device_watch {
    enum watch_state state;
    struct watch_config config;
    struct watched *watched; /* if it is open */
};

/* Reads the facts of the devices of all open endpoints, and of the rank's memory. If a driver
 * hangs, a thread may use the links for good: they must stay. What `config` points to must outlive
 * the watch. */
enum status device_watch_open(struct device_watch *watch, const struct watch_config *config);
/* Closes the meters. A driver that hangs now is named on stderr. All zero is allowed. */
void device_watch_close(struct device_watch *watch);

/* Also of one that is lost. */
bool device_watch_has_devices(const struct device_watch *watch);

/* The names of this rank's devices. */
void device_watch_encode(const struct device_watch *watch, struct bytes *share);
/* The names of another rank's. `precedes`: that rank is of this host, and comes before this one.
 * False: invalid. */
bool device_watch_decode(struct device_watch *watch, bool precedes, struct reader *reader);

/* This rank's share of a device_table: the devices of the endpoints that serve its peers, and those
 * of its memory. */
void device_watch_encode_facts(const struct device_watch *watch, struct bytes *share);

/* Opens the meters, and reads them for the first time. */
enum status device_watch_begin(struct device_watch *watch);

/* Reads them again. *changes: what each device that this rank reads has counted since, gauges, and
 * PAYLOAD_SENT, the bytes that this rank has sent by it; of an earlier call, it is freed. Out of
 * memory: counters are missing. */
#define PAYLOAD_SENT "payload_sent"
enum status device_watch_take(struct device_watch *watch, struct device_changes *changes);

/* The same for a rank that has failed already. It says on stderr if a driver has not answered
 * after `seconds`, and leaves *changes empty. */
void device_watch_take_last(struct device_watch *watch, double seconds,
                            struct device_changes *changes);

#endif
