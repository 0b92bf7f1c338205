/*
 * link_stats.h - what went between a rank and its peers in the timed iterations of a line, and what the
 * links between them had to wait for.
 *
 * The bytes follow from the schedules. What was waited for is counted by the transports (struct
 * strain) on both sides of a link; bottleneck.h says what follows from it.
 */
#ifndef CCTEST_MEASURE_LINK_STATS_H
#define CCTEST_MEASURE_LINK_STATS_H

#include "transport/transport.h"

struct job;
struct test_case;
struct links;
struct runner;

/* What a rank says of one peer, as it travels to rank 0. Times in ns, over all timed iterations; of
 * several lanes the longest. */
struct peer_stats {
    int32_t peer;
    int32_t lanes;
    uint64_t sent, received; /* bytes of messages */
    uint8_t counted;         /* 0: the transport does not count what follows, or some messages
                                are too short */
    uint64_t starved;        /* waiting for what the peer sends */
    uint64_t busy;           /* what was sent to the peer was on its way */
    uint64_t resent;         /* packets */
};

struct link_stats {
    int count;
    struct peer_stats *peers;
    struct wait_stats
        *before; /* of each peer and lane, of the channel that sends and of the other */
};

enum status link_stats_create(const struct job *job, const struct test_case *test_case,
                              const struct runner *runner, struct link_stats **flows);
void link_stats_free(struct link_stats *flows); /* NULL is allowed */

#define LINK_STATS_MOST 64

/* How many peers a rank tells of: the first so many of them, which are put in order here: those who
 * were waited for longest, or to whom bytes were on their way longest, come first. NULL: 0. */
int link_stats_sort(struct link_stats *flows);

/* Before (sign -1) and after (+1) the timed iterations. NULL is allowed. */
void link_stats_count(struct link_stats *flows, struct links *links, int sign);

#endif
