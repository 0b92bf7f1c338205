/*
 * json_times.h - the times of a line in JSON, and how sure they are.
 */
#ifndef CCTEST_CLI_PRINTERS_JSON_TIMES_H
#define CCTEST_CLI_PRINTERS_JSON_TIMES_H

#include <jansson.h>

#include "measure/report.h"

/* Puts the keys time_us, device_time_us, ended, median_interval, modes and trend into a result. */
void times_put(json_t *line, const struct result *result);

#endif
