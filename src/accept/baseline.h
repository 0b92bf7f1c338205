/*
 * baseline.h - an earlier run of `cctest accept`, that hosts of today are held against: its JSON.
 */
#ifndef CCTEST_ACCEPT_BASELINE_H
#define CCTEST_ACCEPT_BASELINE_H

#include <jansson.h>

#include "accept/readings.h"

struct baseline {
    struct readings pairs; /* see baseline_pairs_take() */
    json_t *measured;      /* its "pairs"; NULL: there is no earlier run */
    json_t *numbers; /* of its hosts by themselves, as in its JSON; NULL: there is no earlier run */
    int *host_of;    /* by its number of a host: today's; -1: it is not here */
    int hosts;       /* in the earlier run, */
    int common;      /* and of them here */
};

/* Reads the JSON of an earlier run, for baseline_free(). `labels`: the hosts of today. STATUS_USAGE,
 * after fail(): it cannot be read, is no such JSON, or is of other hosts. */
enum status baseline_read(const char *path, const char *const *labels, int hosts,
                          struct baseline *baseline);

/* Fills `pairs`: readings of its stage pairs between hosts that are here today, on rails that are here
 * today, by today's numbers. `names` of the rails, NULL: of the only one, which has none. */
enum status baseline_pairs_take(struct baseline *baseline, const char *const *names, int count);
void baseline_free(struct baseline *baseline); /* all zero is allowed */

/* What each host of today had in a metric of a stage; 0: nothing is known. False: nothing of any. */
bool baseline_values(const struct baseline *baseline, const char *stage, const char *metric,
                     double *values, int hosts);

#endif
