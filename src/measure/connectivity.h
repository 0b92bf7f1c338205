/*
 * connectivity.h - how the ranks of a job came to be connected: what transports found out about
 * their links, and who meets whom at the start barrier. For the report, so that nothing falls back
 * to a slower way in silence.
 */
#ifndef CCTEST_MEASURE_CONNECTIVITY_H
#define CCTEST_MEASURE_CONNECTIVITY_H

#include <stdint.h>

#include "base/status.h"

struct control;
struct links;
struct start_barrier;

#define LINK_CLASSES_MOST 16 /* beside a last one that sums up those for which there is no room: */
#define LINK_OTHERS       "others"
#define LINK_OTHERS_WORDS "all further kinds together"

/* Links that are alike: by the same transport, which says the same of them. */
struct link_class {
    char transport[16];
    char words[48];             /* the transport's; "": it says nothing */
    int count;                  /* links from a rank to a peer: a pair of ranks has two */
    uint64_t least_ns, most_ns; /* one way; both 0: not measured */
    int from, to;               /* the ranks of the slowest */
};

struct connectivity {
    struct link_class classes[LINK_CLASSES_MOST + 1];
    int class_count;
    int ranks, gates;
    const int *node_barrier; /* of each rank, 0 .. gates-1: those with the same one share memory */
    uint64_t strangers;      /* connections that were none of the job's, dropped by its links */
    char note[256];          /* a sentence about ranks that fell back to the links; "" */
};

/* Adds links to those that are like them. */
void connectivity_add(struct connectivity *connectivity, const struct link_class *more);

/* Called by all ranks together when they are connected; fills *connections at rank 0, as long as
 * `start` is open. */
enum status connectivity_gather(struct control *control, struct links *links,
                                const struct start_barrier *start,
                                struct connectivity *connectivity);

#endif
