/*
 * device_compare.h - the devices of a job that differ from the others: a cable that came up slow, a
 * NIC in the wrong slot, an old firmware.
 */
#ifndef CCTEST_MEASURE_DEVICE_COMPARE_H
#define CCTEST_MEASURE_DEVICE_COMPARE_H

#include "measure/device_table.h"

/* Sentences, ended by NULL, to be freed with differences_free(). Devices that differ from the
 * majority in the same way share one; so do all devices where a fact has no majority. NULL: out of
 * memory. */
char **differences_of(const struct device_table *table);
void differences_free(char **sentences); /* NULL is allowed */

#endif
