/*
 * device.c - a device that carries a job's data, such as a port of a NIC, as a list of facts.
 */
#include "host/host.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Named counters of a device, and how they change.
 */
static struct counter *counter_find(const struct counter_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->counters[i].name, name) == 0)
            return &list->counters[i];
    return NULL;
}

/* Without a look at the names that are there. */
static void counter_append(struct counter_list *list, const char *name, enum counter_class class,
                           uint64_t value)
{
    struct counter *counter = LIST_ADD(list->counters, list->count);
    counter->class = class;
    counter->value = value;
    snprintf(counter->name, sizeof counter->name, "%s", name);
}

void counter_add(struct counter_list *list, const char *name, enum counter_class class,
                 uint64_t value)
{
    if (!counter_find(list, name))
        counter_append(list, name, class, value);
}

void counter_add_since_open(struct counter_list *list, const char *name, enum counter_class class,
                            uint64_t value)
{
    int count = list->count;
    counter_add(list, name, class, value);
    if (list->count > count)
        list->counters[count].since_open = true;
}

void counters_change(const struct counter_list *before, const struct counter_list *now,
                     struct counter_list *change)
{
    for (int i = 0; i < now->count; i++) {
        const struct counter *counter = &now->counters[i];
        /* Directories are read in the same order each time. */
        const struct counter *old =
            i < before->count && strcmp(before->counters[i].name, counter->name) == 0
                ? &before->counters[i]
                : counter_find(before, counter->name);
        uint64_t since = old && counter->class != COUNTER_GAUGE ? old->value : 0;
        bool comparable = old || counter->since_open || counter->class == COUNTER_GAUGE;
        if (comparable && counter->value > since)
            counter_append(change, counter->name, counter->class, counter->value - since);
    }
}

void counters_sum(struct counter_list *sum, const struct counter_list *more)
{
    for (int i = 0; i < more->count; i++) {
        const struct counter *counter = &more->counters[i];
        struct counter *same = counter_find(sum, counter->name);
        if (same)
            same->value = counter->value + (counter->class == COUNTER_GAUGE ? 0 : same->value);
        else
            counter_append(sum, counter->name, counter->class, counter->value);
    }
}

int counters_of_class(const struct counter_list *list, enum counter_class class)
{
    int count = 0;
    for (int i = 0; i < list->count; i++)
        count += list->counters[i].class == class;
    return count;
}

const char *counters_text(const struct counter_list *list, enum counter_class class, char *text,
                          size_t size)
{
    struct text words = text_in(text, size);
    for (int i = 0; i < list->count; i++)
        if (list->counters[i].class == class)
            text_add(&words, "%s%s %llu", words.used ? ", " : "", list->counters[i].name,
                     (unsigned long long)list->counters[i].value);
    return text;
}

void counters_encode(const struct counter_list *list, int classes, struct bytes *share)
{
    uint32_t left = 0;
    for (int class = 0; class < classes; class ++)
        left += (uint32_t)counters_of_class(list, (enum counter_class) class);
    left = left < COUNTERS_SENT_MOST ? left : COUNTERS_SENT_MOST;
    bytes_put_u32(share, left);
    for (int i = 0; left > 0; i++) {
        const struct counter *counter = &list->counters[i];
        if ((int)counter->class >= classes)
            continue;
        bytes_put_text(share, counter->name);
        bytes_put_u32(share, counter->class);
        bytes_put_u64(share, counter->value);
        left--;
    }
}

bool counters_decode(struct counter_list *list, struct reader *reader)
{
    uint32_t count = read_u32(reader);
    reader->bad |= count > COUNTERS_SENT_MOST;
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        char name[COUNTER_NAME_MOST];
        read_text(reader, name, sizeof name);
        uint32_t class = read_u32(reader);
        uint64_t value = read_u64(reader);
        reader->bad |= !name[0] || class >= COUNTER_CLASSES;
        if (!reader->bad)
            counter_add(list, name, (enum counter_class) class, value);
    }
    return !reader->bad;
}

void counter_list_free(struct counter_list *list)
{
    free(list->counters);
    *list = (struct counter_list){0};
}

/*
 * A device that carries a job's data.
 */
struct device *device_add(struct device_list *list, const char *kind, const char *name)
{
    struct device *device = LIST_ADD(list->devices, list->count);
    *device = (struct device){.usable = true, .numa_node = -1};
    snprintf(device->kind, sizeof device->kind, "%s", kind);
    snprintf(device->name, sizeof device->name, "%s", name);
    inquiry_asks(list->inquiry, kind, name, "");
    return device;
}

void device_fact(struct device *device, enum fact_scope scope, const char *name, const char *format,
                 ...)
{
    struct fact fact = {.scope = scope};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fact.text, sizeof fact.text, format, arguments);
    va_end(arguments);
    if (!fact.text[0])
        return;
    snprintf(fact.name, sizeof fact.name, "%s", name);
    *LIST_ADD(device->facts, device->fact_count) = fact;
}

bool device_is_listed(const struct device_list *list, const char *bus)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->devices[i].bus, bus) == 0)
            return true;
    return false;
}

const char *device_find_fact(const struct device *device, const char *name)
{
    for (int i = 0; i < device->fact_count; i++)
        if (strcmp(device->facts[i].name, name) == 0)
            return device->facts[i].text;
    return NULL;
}

const char *device_identity(const struct device *device, char *text, size_t size)
{
    struct text words = text_in(text, size);
    for (int i = 0; i < device->fact_count; i++)
        if (device->facts[i].scope == FACT_IDENTITY)
            text_add(&words, "%s%s %s", words.used ? ", " : "", device->facts[i].name,
                     device->facts[i].text);
    return text;
}

/* Encoding. */

static uint32_t facts_sent(const struct device *device)
{
    uint32_t count = 0;
    for (int i = 0; i < device->fact_count; i++)
        count += device->facts[i].scope != FACT_SHOWN;
    return count < FACTS_SENT_MOST ? count : FACTS_SENT_MOST;
}

static void device_encode(const struct device *device, struct bytes *share)
{
    uint32_t left = facts_sent(device);
    bytes_put_text(share, device->kind);
    bytes_put_text(share, device->name);
    bytes_put_text(share, device->model);
    bytes_put_u32(share, left);
    for (int i = 0; left > 0; i++) {
        const struct fact *fact = &device->facts[i];
        if (fact->scope == FACT_SHOWN)
            continue;
        bytes_put_u32(share, fact->scope);
        bytes_put_text(share, fact->name);
        bytes_put_text(share, fact->text);
        left--;
    }
}

void device_list_encode(const struct device_list *list, struct bytes *share)
{
    int count = list->count < DEVICES_SENT_MOST ? list->count : DEVICES_SENT_MOST;
    bytes_put_u32(share, (uint32_t)count);
    for (int i = 0; i < count; i++)
        device_encode(&list->devices[i], share);
}

static void fact_decode(struct device *device, struct reader *reader)
{
    struct fact fact;
    uint32_t scope = read_u32(reader);
    read_text(reader, fact.name, sizeof fact.name);
    read_text(reader, fact.text, sizeof fact.text);
    reader->bad |= scope >= FACT_SCOPES || !fact.name[0] || !fact.text[0];
    if (!reader->bad)
        device_fact(device, (enum fact_scope)scope, fact.name, "%s", fact.text);
}

bool device_list_decode(struct device_list *list, struct reader *reader)
{
    uint32_t count = read_u32(reader);
    reader->bad |= count > DEVICES_SENT_MOST;
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        char kind[sizeof list->devices->kind], name[DEVICE_NAME_MOST];
        read_text(reader, kind, sizeof kind);
        read_text(reader, name, sizeof name);
        reader->bad |= !kind[0] || !name[0];
        if (reader->bad)
            return false;
        struct device *device = device_add(list, kind, name);
        read_text(reader, device->model, sizeof device->model);
        uint32_t facts = read_u32(reader);
        reader->bad |= facts > FACTS_SENT_MOST;
        for (uint32_t f = 0; f < facts && !reader->bad; f++)
            fact_decode(device, reader);
    }
    return !reader->bad;
}

void device_list_move(struct device_list *list, struct device_list *from)
{
    for (int i = 0; i < from->count; i++)
        *LIST_ADD(list->devices, list->count) = from->devices[i];
    from->count = 0; /* its facts have moved */
    device_list_free(from);
}

void device_list_free(struct device_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->devices[i].facts);
    free(list->devices);
    *list = (struct device_list){0};
}

/*
 * The counters of several devices.
 */
void device_changes_encode(const struct device_changes *changes, int classes, struct bytes *share)
{
    bytes_put_u32(share, (uint32_t)changes->count);
    for (int i = 0; i < changes->count; i++) {
        bytes_put_text(share, changes->devices[i].name);
        counters_encode(&changes->devices[i].counters, classes, share);
    }
}

bool device_changes_decode(struct device_changes *changes, struct reader *reader)
{
    uint32_t count = read_u32(reader);
    *changes = (struct device_changes){0};
    if (reader->bad || count > DEVICES_SENT_MOST)
        return false;
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        struct device_change *change = LIST_ADD(changes->devices, changes->count);
        read_text(reader, change->name, sizeof change->name);
        counters_decode(&change->counters, reader);
        reader->bad |= !change->name[0];
    }
    return !reader->bad;
}

void device_changes_free(struct device_changes *changes)
{
    for (int i = 0; i < changes->count; i++)
        counter_list_free(&changes->devices[i].counters);
    free(changes->devices);
    *changes = (struct device_changes){0};
}

struct counter_list *device_changes_add(struct device_changes *changes, const char *name)
{
    if (changes->count == DEVICES_SENT_MOST)
        return NULL;
    struct device_change *change = LIST_ADD(changes->devices, changes->count);
    snprintf(change->name, sizeof change->name, "%s", name);
    return &change->counters;
}

static const struct device_change *change_find(const struct device_changes *changes,
                                               const char *name)
{
    for (int i = 0; i < changes->count; i++)
        if (strcmp(changes->devices[i].name, name) == 0)
            return &changes->devices[i];
    return NULL;
}

void device_changes_since(const struct device_changes *before, const struct device_changes *now,
                          struct device_changes *grown)
{
    for (int i = 0; i < now->count; i++) {
        const struct device_change *old = change_find(before, now->devices[i].name);
        struct counter_list change = {0}, *kept = NULL;
        if (old)
            counters_change(&old->counters, &now->devices[i].counters, &change);
        for (int k = 0; k < change.count; k++) {
            const struct counter *counter = &change.counters[k];
            if (counter->class == COUNTER_GAUGE)
                continue;
            if (!kept)
                kept = device_changes_add(grown, now->devices[i].name);
            if (kept)
                counter_add(kept, counter->name, counter->class, counter->value);
        }
        counter_list_free(&change);
    }
}

/*
 * The device whose driver a thread asks, and the time at which it began.
 */
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

/*
 * The meter of a device that is read by its name.
 */
struct named_meter {
    struct meter meter;
    char name[DEVICE_NAME_MOST];
    void (*read)(const char *device, struct counter_list *list);
};

static void named_meter_read(struct meter *meter, struct counter_list *list)
{
    const struct named_meter *named = (struct named_meter *)meter;
    named->read(named->name, list);
}

static void named_meter_close(struct meter *meter)
{
    free(meter);
}

struct meter *meter_open(const char *device,
                         void (*read)(const char *device, struct counter_list *list))
{
    struct named_meter *named = new_array(1, sizeof *named);
    *named = (struct named_meter){.meter = {.read = named_meter_read, .close = named_meter_close},
                                  .read = read};
    snprintf(named->name, sizeof named->name, "%s", device);
    return &named->meter;
}
