/*
 * device_watch.c - the devices of a rank: their facts, and what they have counted since it last
 * looked.
 */
#include "run/results/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/timed_call.h"
#include "dataplane/memory/memory.h"

#define ASK_SECONDS   3.0 /* in which drivers are expected to answer; --timeout comes after it */
#define SLOW_SECONDS  1.0 /* a healthy one answers sooner */
#define CLOSE_SECONDS 1.0

/* The consequence of a driver that does not answer a rank that ends. */
#define LACK "the last device counters of this rank are missing"

/* Asking the drivers. */

struct watched_device {
    const struct transport *transport; /* NULL: the device is the memory's */
    struct meter *(*device_meter)(const char *device);
    struct meter *meter; /* NULL: it is not open, or there is none */
    bool reads;          /* this rank reads its counters */
    uint64_t sent;       /* payload bytes that this rank sent by it, at the last look */
    struct counter_list counters, now; /* at the last look, and a later reading */
};

/* The data of the thread that asks drivers. */
struct watched {
    struct inquiry inquiry;
    const struct links *links;
    const struct memory_kind *memory;
    struct memory_device memory_device;
    struct device_list list; /* with their facts */
    struct watched_device *devices;
    int count; /* of both, at most DEVICES_SENT_MOST */
};

static void watched_free(struct watched *watched)
{
    for (int i = 0; i < watched->count; i++) {
        counter_list_free(&watched->devices[i].counters);
        counter_list_free(&watched->devices[i].now);
    }
    device_list_free(&watched->list);
    free(watched->devices);
    free(watched);
}

/* After an end by which the thread goes on: it has the devices for good. */
static void watch_lose(struct device_watch *watch)
{
    watch->watched = NULL;
    watch->state = WATCH_LOST;
}

/* As a part of the rank's run. */
static enum status watch_ask(struct device_watch *watch, void (*work)(void *watched))
{
    char text[INQUIRY_TEXT_MOST];
    struct inquiry *inquiry = &watch->watched->inquiry;
    int end = timed_call_ticking(work, watch->watched, watch->config.tick, ASK_SECONDS);
    if (timed_call_is_abandoned(end))
        watch_lose(watch);
    if (end == ETIMEDOUT)
        return fail(STATUS_TIMEOUT, "%s: " INQUIRY_ADVICE,
                    inquiry_text(inquiry, watch->config.host, text));
    if (end == ECANCELED && inquiry_seconds(inquiry) > SLOW_SECONDS)
        say("%s: " LACK, inquiry_text(inquiry, watch->config.host, text));
    return end ? fail(STATUS_ERROR, "cannot ask the drivers of devices: %s",
                      timed_call_text(end, text, sizeof text))
               : STATUS_OK;
}

/* When the rank ends, for a moment only. `lack`: what follows if a driver hangs. False: one does,
 * or there is no thread. */
static bool watch_ask_last(struct device_watch *watch, void (*work)(void *watched), double seconds,
                           const char *lack)
{
    char text[INQUIRY_TEXT_MOST];
    struct inquiry *inquiry = &watch->watched->inquiry;
    int end = timed_call_run(work, watch->watched, seconds);
    timed_call_reraise(end);
    if (timed_call_is_abandoned(end))
        watch_lose(watch);
    if (end == ETIMEDOUT)
        say("%s: %s", inquiry_text(inquiry, watch->config.host, text), lack);
    return end == 0;
}

static void device_asks(struct watched *watched, int index)
{
    const struct device *device = &watched->list.devices[index];
    inquiry_asks(&watched->inquiry, device->kind, device->name, device->bus);
}

/* Facts. */

/* Notes those that `like` has added to the list. A device that is there already is read as such. */
static void devices_note(struct watched *watched, const struct watched_device *like)
{
    int count = watched->list.count < DEVICES_SENT_MOST ? watched->list.count : DEVICES_SENT_MOST;
    while (watched->count < count) {
        const char *name = watched->list.devices[watched->count].name;
        struct watched_device *device = LIST_ADD(watched->devices, watched->count);
        *device = *like;
        for (int i = 0; i < watched->count - 1; i++)
            if (strcmp(watched->list.devices[i].name, name) == 0)
                device->reads = false;
    }
}

static void facts_read(void *argument)
{
    struct watched *watched = argument;
    const struct memory_kind *memory = watched->memory;
    const struct endpoint *endpoint;
    if (memory->rank_devices) {
        const struct watched_device like = {.device_meter = memory->device_meter,
                                            .reads = memory->device_meter};
        memory->rank_devices(&watched->memory_device, &watched->list);
        devices_note(watched, &like);
    }
    for (int i = 0; (endpoint = links_open_endpoint(watched->links, i)); i++) {
        const struct transport *transport = endpoint->transport;
        const struct watched_device like = {.transport = transport,
                                            .device_meter = transport->device_meter,
                                            .reads = transport->device_meter};
        if (!transport->endpoint_devices)
            continue;
        transport->endpoint_devices(endpoint, &watched->list);
        devices_note(watched, &like);
    }
}

static bool has_devices(const struct watch_config *config)
{
    const struct endpoint *endpoint;
    bool has = config->memory->rank_devices;
    for (int i = 0; (endpoint = links_open_endpoint(config->links, i)) && !has; i++)
        has = endpoint->transport->endpoint_devices;
    return has;
}

enum status device_watch_open(struct device_watch *watch, const struct watch_config *config)
{
    struct watched *watched = new_array(1, sizeof *watched);
    *watch = (struct device_watch){.state = WATCH_OPEN, .config = *config, .watched = watched};
    inquiry_init(&watched->inquiry, "the devices");
    watched->links = config->links;
    watched->memory = config->memory;
    watched->memory_device = *config->device;
    watched->list.inquiry = &watched->inquiry;
    return has_devices(config) ? watch_ask(watch, facts_read) : STATUS_OK;
}

/* An endpoint that serves no peer is closed. */
static bool serves(const struct device_watch *watch, const struct transport *transport)
{
    const struct endpoint *endpoint;
    for (int i = 0; (endpoint = links_endpoint(watch->config.links, i)); i++)
        if (endpoint->transport == transport)
            return true;
    return false;
}

void device_watch_encode_facts(const struct device_watch *watch, struct bytes *share)
{
    const struct watched *watched = watch->watched;
    struct device_list used = {0}; /* its devices belong to the watch */
    int count = watched ? watched->count : 0;
    for (int i = 0; i < count; i++)
        if (!watched->devices[i].transport || serves(watch, watched->devices[i].transport))
            *LIST_ADD(used.devices, used.count) = watched->list.devices[i];
    device_list_encode(&used, share);
    free(used.devices);
}

bool device_watch_has_devices(const struct device_watch *watch)
{
    return watch->state == WATCH_LOST || (watch->watched && watch->watched->count > 0);
}

/* The rank that reads each device. */

void device_watch_encode(const struct device_watch *watch, struct bytes *share)
{
    int count = watch->watched ? watch->watched->count : 0;
    bytes_put_u32(share, (uint32_t)count);
    for (int i = 0; i < count; i++)
        bytes_put_text(share, watch->watched->list.devices[i].name);
}

bool device_watch_decode(struct device_watch *watch, bool precedes, struct reader *reader)
{
    struct watched *watched = watch->watched;
    uint32_t count = read_u32(reader);
    reader->bad |= count > DEVICES_SENT_MOST;
    for (uint32_t n = 0; n < count && !reader->bad; n++) {
        char name[DEVICE_NAME_MOST];
        read_text(reader, name, sizeof name);
        for (int i = 0; watched && i < watched->count && precedes; i++)
            if (strcmp(watched->list.devices[i].name, name) == 0)
                watched->devices[i].reads = false;
    }
    return !reader->bad;
}

/* Counters. */

static void meters_begin(void *argument)
{
    struct watched *watched = argument;
    for (int i = 0; i < watched->count; i++) {
        struct watched_device *device = &watched->devices[i];
        if (!device->reads)
            continue;
        device_asks(watched, i);
        device->meter = device->device_meter(watched->list.devices[i].name);
        if (device->meter)
            device->meter->read(device->meter, &device->counters);
    }
}

static void meters_read(void *argument)
{
    struct watched *watched = argument;
    for (int i = 0; i < watched->count; i++) {
        struct watched_device *device = &watched->devices[i];
        if (!device->meter)
            continue;
        device_asks(watched, i);
        device->meter->read(device->meter, &device->now);
    }
}

static void meters_close(void *argument)
{
    struct watched *watched = argument;
    for (int i = 0; i < watched->count; i++) {
        struct watched_device *device = &watched->devices[i];
        if (!device->meter)
            continue;
        device_asks(watched, i);
        device->meter->close(device->meter);
        device->meter = NULL;
    }
}

static bool reads_any(const struct device_watch *watch)
{
    bool reads = false;
    for (int i = 0; watch->watched && i < watch->watched->count; i++)
        reads |= watch->watched->devices[i].reads;
    return reads;
}

static uint64_t device_sent(const struct device_watch *watch, int index)
{
    const struct endpoint *endpoint;
    const struct transport *transport = watch->watched->devices[index].transport;
    uint64_t sent = 0;
    for (int i = 0;
         transport && transport->device_sent && (endpoint = links_endpoint(watch->config.links, i));
         i++)
        if (endpoint->transport == transport)
            sent += transport->device_sent(endpoint, watch->watched->list.devices[index].name);
    return sent;
}

enum status device_watch_begin(struct device_watch *watch)
{
    enum status status = reads_any(watch) ? watch_ask(watch, meters_begin) : STATUS_OK;
    for (int i = 0; watch->watched && i < watch->watched->count; i++)
        watch->watched->devices[i].sent = device_sent(watch, i);
    return status;
}

/* The counts of the device between the last look and a reading. */
static void device_look(struct device_watch *watch, int index, struct counter_list *change)
{
    struct watched_device *device = &watch->watched->devices[index];
    uint64_t sent = device_sent(watch, index);
    if (device->meter) {
        counters_change(&device->counters, &device->now, change);
        counter_list_free(&device->counters);
        device->counters = device->now;
        device->now = (struct counter_list){0};
    }
    if (sent > device->sent)
        counter_add(change, PAYLOAD_SENT, COUNTER_OTHER, sent - device->sent);
    device->sent = sent;
}

static void changes_take(struct device_watch *watch, struct device_changes *changes)
{
    const struct watched *watched = watch->watched;
    int count = watched ? watched->count : 0;
    for (int i = 0; i < count; i++) {
        struct device_change *change = LIST_ADD(changes->devices, changes->count);
        memcpy(change->name, watched->list.devices[i].name, sizeof change->name);
        device_look(watch, i, &change->counters);
    }
}

enum status device_watch_take(struct device_watch *watch, struct device_changes *changes)
{
    device_changes_free(changes);
    TRY(reads_any(watch) ? watch_ask(watch, meters_read) : STATUS_OK);
    changes_take(watch, changes);
    return STATUS_OK;
}

void device_watch_take_last(struct device_watch *watch, double seconds,
                            struct device_changes *changes)
{
    device_changes_free(changes);
    if (!reads_any(watch) || watch_ask_last(watch, meters_read, seconds, LACK))
        changes_take(watch, changes);
}

void device_watch_close(struct device_watch *watch)
{
    bool closed =
        !reads_any(watch) || watch_ask_last(watch, meters_close, CLOSE_SECONDS, INQUIRY_ADVICE);
    if (closed && watch->watched)
        watched_free(watch->watched);
    *watch = (struct device_watch){0};
}
