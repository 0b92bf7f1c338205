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
struct line;
struct links;
struct runner;

/* What a rank says of one peer, as it travels to rank 0. Times in ns, over all timed iterations; of
 * several lanes the longest. */
struct peer_flow {
    int32_t peer;
    int32_t lanes;
    uint64_t sent, received; /* bytes of messages */
    uint8_t counted;         /* 0: the transport does not count what follows, or some messages
                                are too short */
    uint64_t starved;        /* waiting for what the peer sends */
    uint64_t busy;           /* what was sent to the peer was on its way */
    uint64_t resent;         /* packets */
};

struct flows {
    int count;
    struct peer_flow *peers;
    struct strain *before; /* of each peer and lane, of the channel that sends and of the other */
};

enum status flows_create(const struct job *job, const struct line *line,
                         const struct runner *runner, struct flows **flows);
void flows_free(struct flows *flows); /* NULL is allowed */

#define FLOWS_TOLD 64

/* How many peers a rank tells of: the first so many of them, which are put in order here: those who
 * were waited for longest, or to whom bytes were on their way longest, come first. NULL: 0. */
int flows_told(struct flows *flows);

/* Before (sign -1) and after (+1) the timed iterations. NULL is allowed. */
void flows_count(struct flows *flows, struct links *links, int sign);

#endif
