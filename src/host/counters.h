/*
 * counters.h - named counters of a device, and how they change.
 */
#ifndef CCTEST_HOST_COUNTERS_H
#define CCTEST_HOST_COUNTERS_H

#include <stdbool.h>

#include "base/bytes.h"

#define COUNTER_NAME_MOST  48
#define COUNTERS_SENT_MOST 1024 /* of one device */

enum counter_class {
    COUNTER_SICK,      /* healthy devices do not count these: errors, and what is sent again */
    COUNTER_CONGESTED, /* the network is busy, or a GPU at its power limit */
    COUNTER_OTHER,     /* traffic, and names that the device's driver alone knows */
    COUNTER_GAUGE,     /* counts nothing: a temperature, a clock */
    COUNTER_CLASSES
};

struct counter {
    char name[COUNTER_NAME_MOST]; /* "local_ack_timeout_err" */
    enum counter_class class;
    uint64_t value;
    bool since_open; /* it was 0 when its meter was opened, and may be listed later */
};

struct counter_list {
    struct counter *counters;
    int count, room;
    bool failed; /* out of memory: counters are missing */
};

/* A name that is there already keeps its first value. */
void counter_add(struct counter_list *list, const char *name, enum counter_class class,
                 uint64_t value);

/* Likewise one that was 0 when its meter was opened. */
void counter_add_since_open(struct counter_list *list, const char *name, enum counter_class class,
                            uint64_t value);

/* Adds what each counter of `now` has grown by since `before`, if at all, and gauges as they are.
 * Counters that one of the two lacks, or that went back (the device was reset), are left out. */
void counters_change(const struct counter_list *before, const struct counter_list *now,
                     struct counter_list *change);

/* Adds the values of `more` to the counters of the same names. Of a gauge the later value stays. */
void counters_sum(struct counter_list *sum, const struct counter_list *more);

/* The number of counters of a class. */
int counters_of_class(const struct counter_list *list, enum counter_class class);

/* "symbol_error 3, link_downed 1": those of a class, in the order of the list; cut off at `size`.
 * Returns `text`. */
const char *counters_text(const struct counter_list *list, enum counter_class class, char *text,
                          size_t size);

/* `classes`: the first of enum counter_class that travel. */
void counters_encode(const struct counter_list *list, int classes, struct bytes *share);
/* Appends to the list; false: invalid. Out of memory: list->failed. */
bool counters_decode(struct counter_list *list, struct reader *reader);

void counter_list_free(struct counter_list *list);

#endif
