/*
 * device_changes.c - what several devices have counted.
 */
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct counter_list *device_changes_add(struct device_changes *changes, const char *name)
{
    struct device_change *more =
        changes->count < DEVICES_SENT_MOST
            ? realloc(changes->of, ((size_t)changes->count + 1) * sizeof *more)
            : NULL;
    if (!more)
        return NULL;
    changes->of = more;
    struct device_change *change = &more[changes->count++];
    *change = (struct device_change){0};
    snprintf(change->name, sizeof change->name, "%s", name);
    return &change->counters;
}

static const struct device_change *change_find(const struct device_changes *changes,
                                               const char *name)
{
    for (int i = 0; i < changes->count; i++)
        if (strcmp(changes->of[i].name, name) == 0)
            return &changes->of[i];
    return NULL;
}

void device_changes_since(const struct device_changes *before, const struct device_changes *now,
                          struct device_changes *grown)
{
    for (int i = 0; i < now->count; i++) {
        const struct device_change *old = change_find(before, now->of[i].name);
        struct counter_list change = {0}, *kept = NULL;
        if (old)
            counters_change(&old->counters, &now->of[i].counters, &change);
        for (int k = 0; k < change.count; k++) {
            const struct counter *counter = &change.counters[k];
            if (counter->class == COUNTER_GAUGE)
                continue;
            if (!kept)
                kept = device_changes_add(grown, now->of[i].name);
            if (kept)
                counter_add(kept, counter->name, counter->class, counter->value);
        }
        counter_list_free(&change);
    }
}
