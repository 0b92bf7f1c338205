/*
 * host_values.h - which hosts stand out in a number that each host has of itself: its memory's
 * bandwidth, a core's speed, an allreduce inside it.
 *
 * A value is compared as excess (fleet.h), with the median and deviation of all hosts. It is an
 * outlier beyond
 *
 *     max(spread_factor(judged, FALSE_ALARMS) * deviation, floor)
 *
 * in one measurement, so that no more than one run in 100 accuses anybody by chance; or beyond
 * what a profile or an earlier run asks. Fewer than HOSTS_COMPARED are held against those alone.
 */
#ifndef CCTEST_ACCEPT_JUDGE_HOST_VALUES_H
#define CCTEST_ACCEPT_JUDGE_HOST_VALUES_H

#include "accept/judge/limits.h"

struct value_rule {
    bool less_is_better;
    double floor;          /* a share: what is worse by less is no outlier */
    double asked;          /* by the profile: at least, or at most; 0: nothing */
    const double *earlier; /* of each host, 0: none; NULL: of none */
    double earlier_floor;  /* the share that a host may lose beside the fleet's change */
    double judged;         /* values of all metrics that are judged in a run: hosts * metrics */
};

/* Judges a value of each host; one that is no positive number is not judged. Writes a reason for
 * each host, of which `outlier` says whether it is one. Returns how many are; -1: out of memory.
 * */
int host_values_judge(const struct value_rule *rule, const double *values, int hosts, bool *outlier,
                      struct reason *reasons);

#endif
