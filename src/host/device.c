/*
 * device.c - a device that carries a job's data, such as a port of a NIC, as a list of facts.
 */
#include "host/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct device *device_add(struct device_list *list, const char *kind, const char *name)
{
    struct device *more = realloc(list->devices, ((size_t)list->count + 1) * sizeof *more);
    if (!more) {
        list->failed = true;
        return NULL;
    }
    list->devices = more;
    struct device *device = &more[list->count++];
    *device = (struct device){.usable = true, .numa_node = -1};
    snprintf(device->kind, sizeof device->kind, "%s", kind);
    snprintf(device->name, sizeof device->name, "%s", name);
    inquiry_asks(list->inquiry, kind, name, "");
    return device;
}

void device_fact(struct device_list *list, struct device *device, enum fact_scope scope,
                 const char *name, const char *format, ...)
{
    struct fact fact = {.scope = scope};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fact.text, sizeof fact.text, format, arguments);
    va_end(arguments);
    if (!fact.text[0])
        return;
    snprintf(fact.name, sizeof fact.name, "%s", name);
    struct fact *more = realloc(device->facts, ((size_t)device->fact_count + 1) * sizeof *more);
    if (!more) {
        list->failed = true;
        return;
    }
    device->facts = more;
    more[device->fact_count++] = fact;
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

static void fact_decode(struct device_list *list, struct device *device, struct reader *reader)
{
    struct fact fact;
    uint32_t scope = read_u32(reader);
    read_text(reader, fact.name, sizeof fact.name);
    read_text(reader, fact.text, sizeof fact.text);
    reader->bad |= scope >= FACT_SCOPES || !fact.name[0] || !fact.text[0];
    if (!reader->bad)
        device_fact(list, device, (enum fact_scope)scope, fact.name, "%s", fact.text);
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
        struct device *device = reader->bad ? NULL : device_add(list, kind, name);
        if (!device)
            return !reader->bad;
        read_text(reader, device->model, sizeof device->model);
        uint32_t facts = read_u32(reader);
        reader->bad |= facts > FACTS_SENT_MOST;
        for (uint32_t f = 0; f < facts && !reader->bad; f++)
            fact_decode(list, device, reader);
    }
    return !reader->bad;
}

void device_list_move(struct device_list *list, struct device_list *from)
{
    size_t count = (size_t)(list->count + from->count);
    struct device *more = realloc(list->devices, (count + 1) * sizeof *more);
    list->failed |= from->failed || !more;
    if (more) {
        list->devices = more;
        for (int i = 0; i < from->count; i++)
            more[list->count++] = from->devices[i];
        from->count = 0; /* its facts have moved */
    }
    device_list_free(from);
}

void device_list_free(struct device_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->devices[i].facts);
    free(list->devices);
    *list = (struct device_list){0};
}
