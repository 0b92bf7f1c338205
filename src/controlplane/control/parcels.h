/*
 * parcels.h - what a rank sends to each of some peers, or gets from each: bytes of one size.
 *
 * Encoded: nothing, or the size of a parcel and then runs of peers that follow each other. A run
 * has a parcel for each of its peers, or one that is the same for all: in a job in which each rank
 * has all others as peers, these are mostly alike. Peers are ascending. Pure, as messages.h.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_PARCELS_H
#define CCTEST_CONTROLPLANE_CONTROL_PARCELS_H

#include "base/bytes.h"

struct parcel {
    int peer; /* to which it goes, or from which it comes */
    const unsigned char *data;
};

/* `count` parcels of `each` bytes. */
void parcels_encode(const struct parcel *parcels, int count, size_t each, struct bytes *bytes);

/* Encoded parcels, which are read in turn. Points into what was decoded. */
struct parcels {
    int count;   /* parcels in all */
    size_t each; /* bytes of one */
    struct reader rest;
    struct parcel next; /* of the run that is being read, */
    int left;           /* which has so many more, itself included; 0: all were read */
    bool alike;
};

/* Of `rank`, one of `ranks`: it has no parcel for itself. False: no rank sends this. */
bool parcels_decode(const void *data, size_t size, int rank, int ranks, struct parcels *parcels);
/* Takes the next one; false: there is none. parcels->next is the one behind it, if left > 0. */
bool parcels_take(struct parcels *parcels, struct parcel *parcel);
/* The bytes from parcels->next.data on were copied to `to`, where they are read from now on. */
void parcels_rebase(struct parcels *parcels, const unsigned char *to);

#endif
