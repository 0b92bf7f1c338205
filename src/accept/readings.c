/*
 * readings.c - a list of readings that grows.
 */
#include "accept/readings.h"

#include <stdlib.h>

#include "base/log.h"

enum status readings_add(struct readings *readings, const struct reading *reading)
{
    if (readings->count == readings->room) {
        size_t room = 2 * readings->room + 256;
        struct reading *of = realloc(readings->of, room * sizeof *of);
        if (!of)
            return fail(STATUS_ERROR, "out of memory for %zu readings", room);
        readings->of = of;
        readings->room = room;
    }
    readings->of[readings->count++] = *reading;
    return STATUS_OK;
}

void readings_free(struct readings *readings)
{
    free(readings->of);
    *readings = (struct readings){0};
}
