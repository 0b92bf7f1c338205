/*
 * link_stats.h - bytes and waiting times between a rank and each peer, in the timed iterations of a
 * line.
 *
 * The bytes follow from the schedules. The transports count waiting times (struct wait_stats) at
 * both ends of a link. bottleneck.h draws the conclusions.
 */
#ifndef CCTEST_RUN_RESULTS_LINK_STATS_H
#define CCTEST_RUN_RESULTS_LINK_STATS_H

#include "dataplane/transport/transport.h"

struct job;
struct test_case;
struct links;
struct runner;

/* One peer of a rank. Times in ns, over all timed iterations; of several lanes the longest. */
struct peer_stats {
    int32_t peer;
    int32_t lanes;
    uint64_t sent, received; /* bytes of messages */
    bool counted;            /* the times count: the transport has them, no message is too short */
    uint64_t starved;        /* waiting for bytes from the peer */
    uint64_t busy;           /* bytes to the peer were on their way */
    uint64_t resent;         /* packets */
};

struct link_stats {
    int count;
    struct peer_stats *peers;
    struct wait_stats *before; /* of each peer and lane: of the sending channel, and of the other */
};

enum status link_stats_create(const struct test_case *test_case, const struct runner *runner,
                              struct link_stats **stats);
void link_stats_free(struct link_stats *stats); /* NULL is allowed */

#define LINK_STATS_MOST 64

/* Puts the peers with the longest times first. Returns how many of them are reported, at most
 * LINK_STATS_MOST. NULL: 0. */
int link_stats_sort(struct link_stats *stats);

/* Notes the bytes of all timed iterations, which `test_case` has counted. NULL is allowed. */
void link_stats_note_bytes(struct link_stats *stats, const struct test_case *test_case);

/* Before (sign -1) and after (+1) each series of timed iterations. NULL is allowed. */
void link_stats_count(struct link_stats *stats, struct links *links, int sign);

#endif
