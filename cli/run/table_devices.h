/*
 * table_devices.h - what the table says of the NICs and GPUs that the ranks use.
 */
#ifndef CCTEST_CLI_RUN_TABLE_DEVICES_H
#define CCTEST_CLI_RUN_TABLE_DEVICES_H

#include <stdio.h>

#include "run/results/report.h"

/* In the head: the devices that differ from the others. */
void differences_print(FILE *out, const struct connectivity *connectivity);

/* With -v, in the head: the ranks that use each NIC. */
void uses_print(FILE *out, const struct connectivity *connectivity);
/* The same as a text, to be freed; NULL: it is empty, or memory ran out. */
char *readings_text(const struct device_readings *readings, enum counter_class class);

/* In the footer: the devices that have counted what healthy ones do not. */
void sick_print(FILE *out, const struct device_readings *sick);

#endif
