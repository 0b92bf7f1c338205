/*
 * device_watch.c - what the devices of a rank have counted since it last looked.
 */
#include "measure/device_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "memory/memory.h"
#include "transport/links.h"

/* Changes. */

void device_changes_encode(const struct device_changes *changes, int classes, struct bytes *share)
{
    bytes_put_u32(share, (uint32_t)changes->count);
    for (int i = 0; i < changes->count; i++) {
        bytes_put_text(share, changes->of[i].name);
        counters_encode(&changes->of[i].counters, classes, share);
    }
}

bool device_changes_decode(struct device_changes *changes, struct reader *reader)
{
    uint32_t count = read_u32(reader);
    *changes = (struct device_changes){0};
    if (reader->bad || count > DEVICES_SENT_MOST)
        return false;
    changes->of = calloc((size_t)count + 1, sizeof *changes->of);
    for (uint32_t i = 0; changes->of && i < count && !reader->bad; i++) {
        struct device_change *change = &changes->of[changes->count++];
        read_text(reader, change->name, sizeof change->name);
        counters_decode(&change->counters, reader);
        reader->bad |= !change->name[0] || change->counters.failed;
    }
    return changes->of && !reader->bad;
}

void device_changes_free(struct device_changes *changes)
{
    for (int i = 0; i < changes->count; i++)
        counter_list_free(&changes->of[i].counters);
    free(changes->of);
    *changes = (struct device_changes){0};
}

/* The watch. */

static bool is_watched(const struct device_watch *watch, const char *name)
{
    for (int i = 0; i < watch->count; i++)
        if (strcmp(watch->devices[i].name, name) == 0)
            return true;
    return false;
}

/* False: out of memory. */
static bool watch_add(struct device_watch *watch, const struct watched_device *like,
                      const struct device_list *list)
{
    struct watched_device *more =
        realloc(watch->devices, (size_t)(watch->count + list->count + 1) * sizeof *more);
    if (!more)
        return false;
    watch->devices = more;
    for (int i = 0; i < list->count && watch->count < DEVICES_SENT_MOST; i++) {
        if (is_watched(watch, list->devices[i].name))
            continue;
        struct watched_device *device = &more[watch->count++];
        *device = *like;
        memcpy(device->name, list->devices[i].name, sizeof device->name);
    }
    return true;
}

static bool watch_add_endpoint(struct device_watch *watch, const struct endpoint *endpoint)
{
    const struct transport *transport = endpoint->transport;
    const struct watched_device like = {
        .transport = transport, .device_meter = transport->device_meter, .reads = true};
    struct device_list list = {0};
    if (!transport->endpoint_devices || !transport->device_meter)
        return true;
    transport->endpoint_devices(endpoint, &list);
    bool added = !list.failed && watch_add(watch, &like, &list);
    device_list_free(&list);
    return added;
}

static bool watch_add_memory(struct device_watch *watch, const struct memory_kind *memory)
{
    const struct watched_device like = {.device_meter = memory->device_meter, .reads = true};
    struct device_list list = {0};
    if (!memory->rank_devices || !memory->device_meter)
        return true;
    memory->rank_devices(&list);
    bool added = !list.failed && watch_add(watch, &like, &list);
    device_list_free(&list);
    return added;
}

enum status device_watch_open(struct device_watch *watch, struct links *links,
                              const struct memory_kind *memory)
{
    watch->links = links;
    const struct endpoint *endpoint;
    bool added = watch_add_memory(watch, memory);
    for (int i = 0; (endpoint = links_open_endpoint(links, i)) && added; i++)
        added = watch_add_endpoint(watch, endpoint);
    return added ? STATUS_OK : fail(STATUS_ERROR, "out of memory for the counters of devices");
}

void device_watch_close(struct device_watch *watch)
{
    for (int i = 0; i < watch->count; i++) {
        counter_list_free(&watch->devices[i].counters);
        if (watch->devices[i].meter)
            watch->devices[i].meter->close(watch->devices[i].meter);
    }
    free(watch->devices);
    *watch = (struct device_watch){0};
}

void device_watch_encode(const struct device_watch *watch, struct bytes *share)
{
    bytes_put_u32(share, (uint32_t)watch->count);
    for (int i = 0; i < watch->count; i++)
        bytes_put_text(share, watch->devices[i].name);
}

bool device_watch_decode(struct device_watch *watch, bool precedes, struct reader *reader)
{
    uint32_t count = read_u32(reader);
    reader->bad |= count > DEVICES_SENT_MOST;
    for (uint32_t n = 0; n < count && !reader->bad; n++) {
        char name[DEVICE_NAME_MOST];
        read_text(reader, name, sizeof name);
        for (int i = 0; i < watch->count && precedes; i++)
            if (strcmp(watch->devices[i].name, name) == 0)
                watch->devices[i].reads = false;
    }
    return !reader->bad;
}

/* An endpoint that serves no peer is closed, and has sent nothing. */
static uint64_t device_sent(const struct device_watch *watch, const struct watched_device *device)
{
    const struct endpoint *endpoint;
    const struct transport *transport = device->transport;
    uint64_t sent = 0;
    for (int i = 0; watch->links && transport && transport->device_sent &&
                    (endpoint = links_endpoint(watch->links, i));
         i++)
        if (endpoint->transport == transport)
            sent += transport->device_sent(endpoint, device->name);
    return sent;
}

/* Adds what the device has counted since the last look. */
static void device_look(const struct device_watch *watch, struct watched_device *device,
                        struct counter_list *change)
{
    struct counter_list now = {0};
    uint64_t sent = device_sent(watch, device);
    if (device->meter) {
        device->meter->read(device->meter, &now);
        counters_change(&device->counters, &now, change);
        counter_list_free(&device->counters);
        device->counters = now;
    }
    if (sent > device->sent)
        counter_add(change, PAYLOAD_SENT, COUNTER_OTHER, sent - device->sent);
    device->sent = sent;
}

void device_watch_begin(struct device_watch *watch)
{
    for (int i = 0; i < watch->count; i++) {
        struct watched_device *device = &watch->devices[i];
        if (device->reads)
            device->meter = device->device_meter(device->name);
        if (device->meter)
            device->meter->read(device->meter, &device->counters);
        device->sent = device_sent(watch, device);
    }
}

void device_watch_take(struct device_watch *watch, struct device_changes *changes)
{
    device_changes_free(changes);
    changes->of = calloc((size_t)watch->count + 1, sizeof *changes->of);
    for (int i = 0; changes->of && i < watch->count; i++) {
        struct watched_device *device = &watch->devices[i];
        struct device_change *change = &changes->of[changes->count++];
        memcpy(change->name, device->name, sizeof change->name);
        device_look(watch, device, &change->counters);
    }
}
