/*
 * json_devices.h - the NICs that the ranks use, in the JSON document of a run.
 */
#ifndef CCTEST_CLI_PRINTERS_JSON_DEVICES_H
#define CCTEST_CLI_PRINTERS_JSON_DEVICES_H

#include <jansson.h>

#include "measure/report.h"

/* Adds "nics", with the facts that are compared, "nic_differences", and for each of the document's
 * "ranks" the names of its NICs. */
void devices_put(json_t *document, const struct connectivity *connectivity);

/* Of a line: what each NIC has counted, by class. */
json_t *readings_array(const struct device_readings *readings);

/* Of the job: what NICs have counted and a healthy network does not. */
json_t *sick_array(const struct device_readings *sick);

#endif
