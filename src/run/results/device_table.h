/*
 * device_table.h - rank 0's table of the devices that the ranks use: which, on which host, by which
 * ranks.
 */
#ifndef CCTEST_RUN_RESULTS_DEVICE_TABLE_H
#define CCTEST_RUN_RESULTS_DEVICE_TABLE_H

#include "host/device.h"
#include "base/rank_state.h"

/* A device, with the first rank that uses it. */
struct device_row {
    struct device *device; /* in table->devices */
    int rank, node;
};

struct device_use {
    int rank, row;
};

struct device_table {
    const struct member *members; /* by rank */
    struct device_list devices;
    struct device_row *rows; /* one for each device, in the same order */
    int row_count;
    struct device_use *uses; /* by ascending rank */
    int use_count;
};

/* Adds the share of a rank (device_watch_encode_facts()); they come in the order of ranks. False:
 * invalid, or out of memory, which is recorded. */
bool device_table_decode(struct device_table *table, int rank, struct reader *reader);

/* After the last share: sets the rows' devices. */
void device_table_complete(struct device_table *table);

/* The row of a device on the host of `rank`; -1: no rank uses it. */
int device_table_find(const struct device_table *table, int rank, const char *device);

void device_table_free(struct device_table *table); /* all zero is allowed */

#endif
