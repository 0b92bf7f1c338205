/*
 * memory_device.c - names and identities of devices with memory; lists of them.
 */
#include "dataplane/memory/memory.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "host/nvml/gpus.h"

#define CHOICES_MOST 64
#define ENTRY_MOST   32

void memory_device_encode(const struct memory_device *device, struct bytes *share)
{
    bytes_put_u32(share, (uint32_t)(device->number + 1));
    if (device->number < 0)
        return;
    bytes_put_text(share, device->bus);
    bytes_put_text(share, device->uuid);
    bytes_put_text(share, device->name);
    bytes_put_text(share, device->domain);
}

bool memory_device_decode(struct memory_device *device, struct reader *reader)
{
    uint32_t number = read_u32(reader);
    *device = (struct memory_device){.number = (int)(number & INT_MAX) - 1};
    if (device->number < 0)
        return number == 0;
    read_text(reader, device->bus, sizeof device->bus);
    read_text(reader, device->uuid, sizeof device->uuid);
    read_text(reader, device->name, sizeof device->name);
    read_text(reader, device->domain, sizeof device->domain);
    return number <= INT_MAX && !reader->bad;
}

const char *memory_device_text(const struct memory_device *device, char text[MEMORY_DEVICE_TEXT])
{
    snprintf(text, MEMORY_DEVICE_TEXT, "GPU %d (%s)", device->number,
             device->bus[0] ? device->bus : "PCI address unknown");
    return text;
}

int memory_device_compare(const struct memory_device *a, const struct memory_device *b)
{
    int order = strcmp(a->bus, b->bus);
    order = order ? order : strcmp(a->uuid, b->uuid);
    bool known = a->bus[0] || a->uuid[0];
    return order || known ? order : a->number - b->number;
}

uint64_t memory_device_identity(const struct memory_device *device)
{
    uint64_t hash = hash_text(hash_text(HASH_BEGIN, device->bus), device->uuid);
    if (!device->bus[0] && !device->uuid[0])
        hash += (uint64_t)device->number;
    return hash ? hash : 1;
}

/* "3B:0.0" or "00000000:3b:00.0" as the kernel writes it; false: it is no PCI address. */
static bool entry_bus(const char *text, char bus[16])
{
    char full[ENTRY_MOST + 8];
    int colons = 0;
    for (const char *at = text; *at; at++) {
        if (!isxdigit((unsigned char)*at) && *at != ':' && *at != '.')
            return false;
        colons += *at == ':';
    }
    snprintf(full, sizeof full, "%s%s", colons == 1 ? "0:" : "", text);
    return gpu_bus(full, bus);
}

/* Reads the entry that begins at *at, and moves *at behind its comma; NULL: it was the last. */
static bool entry_read(const char **at, struct device_choice *choice)
{
    char entry[ENTRY_MOST], *end;
    size_t length = strcspn(*at, ",");
    *choice = (struct device_choice){.number = -1};
    if (length == 0 || length >= sizeof entry)
        return false;
    memcpy(entry, *at, length);
    entry[length] = 0;
    *at = (*at)[length] ? *at + length + 1 : NULL;
    if (strchr(entry, ':'))
        return entry_bus(entry, choice->bus);
    long number = isdigit((unsigned char)entry[0]) ? strtol(entry, &end, 10) : INT_MAX;
    choice->number = (int)(number < INT_MAX ? number : -1);
    return number < INT_MAX && !*end;
}

int device_choices(const char *list)
{
    struct device_choice choice;
    int count = 0;
    for (const char *at = list; at; count++)
        if (count == CHOICES_MOST || !entry_read(&at, &choice))
            return 0;
    return count;
}

bool device_choice_at(const char *list, int index, struct device_choice *choice)
{
    int count = device_choices(list);
    for (int i = 0; count > 0 && i <= index % count; i++)
        entry_read(&list, choice);
    return count > 0;
}

int device_choice_distinct(const char *list)
{
    int count = device_choices(list), distinct = 0;
    for (int i = 0; i < count; i++) {
        struct device_choice choice, earlier;
        bool again = false;
        device_choice_at(list, i, &choice);
        for (int j = 0; j < i && !again; j++) {
            device_choice_at(list, j, &earlier);
            again = earlier.number == choice.number && strcmp(earlier.bus, choice.bus) == 0;
        }
        distinct += !again;
    }
    return distinct;
}
