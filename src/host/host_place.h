/*
 * host_place.h - where a rank or a device stands in its host: the parts of the host that have it,
 * from the smallest up. Two of them are the nearer, the smaller the part is that both stand in.
 *
 * Which parts these are depends on what the places are of: CPUs (run/cpu_binding.h) or PCI devices
 * (host/pci.h). Only places of one kind, and of one host, compare.
 */
#ifndef CCTEST_HOST_HOST_PLACE_H
#define CCTEST_HOST_HOST_PLACE_H

#include "base/bytes.h"

#define PLACE_LEVELS  6
#define PLACE_UNKNOWN UINT32_MAX /* which part it is: several, or not known */

struct host_place {
    uint32_t at[PLACE_LEVELS];
};

/* A place of which nothing is known. */
struct host_place host_place_unknown(void);

/* The smallest part that both share, a level; PLACE_LEVELS: none that is known. */
int host_place_shared(const struct host_place *a, const struct host_place *b);

/* Negative, 0 or positive: an order in which the places of each part stand together. */
int host_place_compare(const struct host_place *a, const struct host_place *b);

void host_place_encode(const struct host_place *place, struct bytes *share);
/* Any number may stand in a place, so none is invalid. */
void host_place_decode(struct host_place *place, struct reader *reader);

#endif
