/*
 * readings.c - a list of readings that grows.
 */
#include "accept/accept.h"

#include <stdlib.h>

#include "base/log.h"

const char *const reading_metric_names[METRICS] = {
    [METRIC_LATENCY] = "latency", [METRIC_ALONE] = "alone", [METRIC_BOTH] = "both"};
const char *const reading_metric_keys[METRICS] = {[METRIC_LATENCY] = "pairs.latency",
                                                  [METRIC_ALONE] = "pairs.bandwidth",
                                                  [METRIC_BOTH] = "pairs.bandwidth_both"};

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
