/*
 * device_compare.h - the devices of a job that differ from the others: a cable that came up slow, a
 * NIC in the wrong slot, a GPU without ECC.
 */
#ifndef CCTEST_RUN_RESULTS_DEVICE_COMPARE_H
#define CCTEST_RUN_RESULTS_DEVICE_COMPARE_H

#include "run/results/device_table.h"

struct difference {
    const char *kind; /* of the devices; in the table */
    char *text;       /* a sentence; NULL: the list ends */
};

/* To be freed with differences_free(). Devices of a kind that differ from the majority in the same
 * way share a sentence; so do all devices where a fact has no majority. NULL: out of memory. */
struct difference *differences_of(const struct device_table *table);
void differences_free(struct difference *differences); /* NULL is allowed */

#endif
