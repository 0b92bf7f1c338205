/*
 * sickness.h - what is found: suspects, each pinned to the least place that explains it, and the
 * health of each host that follows.
 *
 * Suspects of one host become one sickness. Its place is a direction if the other direction is
 * good, a NIC (the host on a rail) if the other rails are good, and else the host. Good is what
 * lies nearer to the fleet than to the sickness: its excess is at most half of the sickness's, and
 * at most half of its own limit. Where a bandwidth is slow alone, what is measured in both
 * directions at once is slow too and says no more; where only that is slow, and both ways, the
 * sickness is one of both directions at once. Failures but wrong data have no direction, since
 * both ends of a job fail.
 */
#ifndef CCTEST_ACCEPT_JUDGE_SICKNESS_H
#define CCTEST_ACCEPT_JUDGE_SICKNESS_H

#include "accept/judge/isolation.h"

/* In order of gravity: wrong data outranks a loss, and both outrank slowness. */
enum sickness_kind {
    SICKNESS_LATENCY,
    SICKNESS_DUPLEX, /* slow where both directions are in use, and not where one is */
    SICKNESS_SLOW,
    SICKNESS_ERROR,
    SICKNESS_LATE,
    SICKNESS_LOST,
    SICKNESS_WRONG,
};

enum spot_kind {
    SPOT_HOST,
    SPOT_LINK,   /* between two hosts that are good with others */
    SPOT_EITHER, /* two hosts or the link between them: this cannot be told apart */
};

struct spot {
    enum spot_kind kind;
    int host, peer;           /* peer -1: SPOT_HOST */
    int rail;                 /* -1: all */
    enum direction direction; /* of the host */
};

struct sickness {
    enum sickness_kind kind;
    struct spot spot;
    struct reason reason; /* the worst; its value is 0 of a failure */
    bool confirmed;   /* seen again; a failure that was not, and what could not be tried, is none */
    bool ended_early; /* isolation ended before it was tried again */
    int tries, hits;  /* measurements for this, and those that showed it */
    int witness_count;
    struct witness witnesses[WITNESSES_MOST];
};

/* bad: a sickness of the host is confirmed. suspect: one is not confirmed, or is the link's, which
 * has two ends, or either host's. Slowness that was seen once, and not again, leaves a host good.
 *
 * In order of gravity. HEALTH_UNKNOWN: the host could not be judged. */
enum health { HEALTH_GOOD, HEALTH_UNKNOWN, HEALTH_SUSPECT, HEALTH_BAD };

struct sicknesses {
    struct sickness *of; /* the gravest first, then by host */
    int count;
    enum health *health; /* of each host */
    int passing;         /* suspects of slowness that were cleared: disturbed measurements */
    int untried;         /* links whose readings were slow, but were not measured again */
};

/* What isolation has found so far. NULL: out of memory. */
struct sicknesses *sicknesses_find(const struct fleet *fleet, const struct isolation *isolation);
void sicknesses_free(struct sicknesses *sicknesses); /* NULL is allowed */

#endif
