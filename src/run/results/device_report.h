/*
 * device_report.h - what the devices of all ranks have counted, as a report shows it.
 */
#ifndef CCTEST_RUN_RESULTS_DEVICE_REPORT_H
#define CCTEST_RUN_RESULTS_DEVICE_REPORT_H

#include "host/counters.h"
#include "run/results/device_table.h"
#include "run/results/device_watch.h"

struct device_reading {
    const char *host;
    const struct device *device;
    struct counter_list counters; /* what it has counted; names that are not zero */
};

struct device_readings {
    struct device_reading *of;
    int count;
};

/* Sums over all lines of the job, of each row of the table. */
struct device_sums {
    const struct device_table *table; /* NULL: the ranks are not connected yet, or use none */
    struct counter_list *of;          /* of each row */
};

/* False: out of memory. The table must outlive the sums. */
bool device_sums_open(struct device_sums *sums, const struct device_table *table);
void device_sums_close(struct device_sums *sums); /* all zero is allowed */

/* What rank `rank` has read: adds it to the sums, and to the readings, of which each device has
 * one. Devices that no rank uses are left out. False: out of memory. */
bool device_sums_add(struct device_sums *sums, int rank, const struct device_changes *changes,
                     struct device_readings *readings);

/* The devices that have counted anything of a class in the job. False: out of memory. */
bool device_sums_of_class(const struct device_sums *sums, enum counter_class class,
                          struct device_readings *readings);

void device_readings_free(struct device_readings *readings); /* all zero is allowed */

#endif
