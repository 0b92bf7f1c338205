/*
 * connectivity.h - how the ranks of a job are connected: the kinds of links, and the node barriers.
 * For the report: no fall-back to a slower way stays unseen.
 */
#ifndef CCTEST_RUN_RESULTS_CONNECTIVITY_H
#define CCTEST_RUN_RESULTS_CONNECTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "run/results/device_compare.h"
#include "run/results/device_table.h"
#include "dataplane/transport/fallback.h"

struct control;
struct links;
struct device_watch;
struct start_barrier;

#define LINK_CLASSES_MOST 16 /* and a last one for all further classes: */
#define LINK_OTHERS       "others"
#define LINK_OTHERS_WORDS "all further kinds together"
#define LINK_STAGED       "staged"

/* Links of the same transport, which describes them in the same words. */
struct link_class {
    char transport[16];
    char words[80];             /* the transport's; "": it says nothing; at their end LINK_STAGED */
    int count;                  /* links from a rank to a peer: a pair of ranks has two */
    uint64_t least_ns, most_ns; /* one way; both 0: not measured */
    int from, to;               /* the ranks of the slowest */
};

struct connectivity {
    struct link_class classes[LINK_CLASSES_MOST + 1];
    int class_count;
    int ranks, node_barriers;
    const int *node_barrier_of; /* of each rank, 0 .. node_barriers - 1 */
    uint64_t rejected; /* connections that the links rejected as not the job's, and that the control
                           plane of all ranks but 0 did */
    struct fallbacks fallbacks;   /* why pairs of ranks do not run over the transport they prefer */
    const struct member *members; /* of the job */
    char note[256];               /* a sentence about ranks that fell back to the links; "" */
    struct device_table devices;  /* that the ranks use, */
    struct difference *differences; /* and sentences about them */
};

/* Do their messages go through rings in memory of the host? */
bool link_class_is_staged(const struct link_class *class);

/* Adds links to their class. */
void connectivity_add(struct connectivity *connectivity, const struct link_class *more);

/* Called by all ranks together when they are connected. Fills *connectivity at rank 0; it is valid
 * as long as `start` and `control` are open. To be freed with connectivity_free(), also after an
 * error. */
enum status connectivity_gather(struct control *control, struct links *links,
                                const struct device_watch *watch, const struct start_barrier *start,
                                struct connectivity *connectivity);
void connectivity_free(struct connectivity *connectivity); /* all zero is allowed */

#endif
