/*
 * readings.h - a list of readings that grows.
 */
#ifndef CCTEST_ACCEPT_READINGS_H
#define CCTEST_ACCEPT_READINGS_H

#include <stddef.h>

#include "base/status.h"
#include "accept/judge/reading.h"

struct readings {
    struct reading *of;
    size_t count, room;
};

/* "latency", "alone", "both", in JSON; "pairs.latency" ... in a profile. */
extern const char *const reading_metric_names[METRICS], *const reading_metric_keys[METRICS];

/* Adds a copy. STATUS_ERROR: out of memory. */
enum status readings_add(struct readings *readings, const struct reading *reading);
void readings_free(struct readings *readings);

#endif
