/*
 * bottleneck.h - which rank, link or host accounts for the time of an iteration: a rank that begins
 * late, a slow link, all links of a host, or none.
 *
 * No clocks of different hosts are compared. A link's own time has two bounds that are counted on
 * its two sides: for how long its sender had bytes on their way that the receiver had room for, and
 * for how long its receiver waited for bytes that did not come. A late or slow sender makes a
 * receiver wait, but has nothing on its way; a late or slow receiver leaves bytes on their way, but
 * does not wait for them. So the smaller of the two is the link's own, or more than that.
 *
 * On a machine with more ranks than cores all links are a little slow. Only a link that stands out
 * from links with as much to carry is named.
 */
#ifndef CCTEST_RUN_RESULTS_BOTTLENECK_H
#define CCTEST_RUN_RESULTS_BOTTLENECK_H

#include <stdint.h>

enum bottleneck_kind {
    BOTTLENECK_NONE,
    BOTTLENECK_RANK, /* it begins late */
    BOTTLENECK_LINK, /* from one rank to another, or all links from its host to the other's */
    BOTTLENECK_PAIR, /* the links between two hosts, in both directions */
    BOTTLENECK_FROM, /* all links from a host */
    BOTTLENECK_TO,   /* all links to a host */
    BOTTLENECK_HOST, /* all links from and to a host */
};

/* What one link carried in the timed iterations of a line. */
struct bottleneck_link {
    int from, to;     /* ranks */
    uint64_t bytes;   /* of messages */
    uint64_t busy;    /* ns in which bytes were on their way */
    uint64_t starved; /* ns in which the receiver waited for them */
};

struct bottleneck_case {
    int ranks;
    const int *node;      /* of each rank, from 0 */
    const uint64_t *late; /* of each rank: the median of the time from its release to its
                             beginning, ns */
    int late_rank;        /* statistics_late_rank() of these */
    uint64_t duration;    /* p50 of an iteration, ns */
    uint64_t time;        /* all iterations together, ns */
    const struct bottleneck_link *links;
    int link_count;
};

struct bottleneck {
    enum bottleneck_kind kind;
    int rank;            /* the late one; -1 */
    int from, to;        /* of the links, the one that was waited for longest; -1 */
    int node;            /* BOTTLENECK_FROM, TO, HOST; -1 */
    int links;           /* how many are slow */
    double share;        /* of the time */
    double rate, others; /* bytes per second: of a slow link; the median of the others, each at
                            least that */
    uint64_t late, next; /* ns: of the late rank, and the most of any other */
};

/* Nothing is allocated or kept. Where memory is short, the kind is BOTTLENECK_NONE. */
void bottleneck_find(const struct bottleneck_case *given, struct bottleneck *bottleneck);

#endif
