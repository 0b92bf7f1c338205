/*
 * counters.c - named counters of a device, and how they change.
 */
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

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
    if (list->count == list->room) {
        int room = list->room ? 2 * list->room : 64;
        struct counter *more = realloc(list->counters, (size_t)room * sizeof *more);
        if (!more) {
            list->failed = true;
            return;
        }
        list->counters = more;
        list->room = room;
    }
    struct counter *counter = &list->counters[list->count++];
    *counter = (struct counter){.class = class, .value = value};
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
