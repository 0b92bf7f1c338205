/*
 * source.h - where the facts and the counters of a host come from.
 */
#ifndef CCTEST_HOST_FACTS_SOURCE_H
#define CCTEST_HOST_FACTS_SOURCE_H

#include "host/facts/inventory.h"

struct inventory_source {
    const char *root; /* "": this machine; else a folder with sys, proc, etc and dev, in tests */
    const char *host; /* the host's name, for sentences */
    double patience;  /* seconds in which each source must answer */
    bool (*firmware)(const char *netdev, char *text, size_t size); /* NULL: it is not asked */
    bool asks_nvml; /* never before a fork (host/nvml/nvml.h) */
};

#endif
