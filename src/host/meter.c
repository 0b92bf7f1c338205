/*
 * meter.c - the meter of a device that is read by its name.
 */
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>


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
    struct named_meter *named = malloc(sizeof *named);
    if (!named)
        return NULL;
    *named = (struct named_meter){.meter = {.read = named_meter_read, .close = named_meter_close},
                                  .read = read};
    snprintf(named->name, sizeof named->name, "%s", device);
    return &named->meter;
}
