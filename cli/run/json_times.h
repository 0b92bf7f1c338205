/*
 * json_times.h - the times of a line in JSON, and how sure they are.
 */
#ifndef CCTEST_CLI_RUN_JSON_TIMES_H
#define CCTEST_CLI_RUN_JSON_TIMES_H

#include <jansson.h>

#include "run/results/report.h"

/* Puts the keys time_us, device_time_us, median_interval, modes, trend, algbw_GBps, busbw_GBps and
 * slowest into a result, or into that of a group. */
void timing_put(json_t *line, const struct timing *timing);

#endif
