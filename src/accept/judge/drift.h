/*
 * drift.h - hosts over the rotations of a soak: which become worse, and which are worse now and then.
 *
 * A value is compared as excess (fleet.h) with the median of its rotation's hosts, so what all of them
 * meet is no host's; of fewer than HOSTS_COMPARED hosts, with nothing. Then with the median of its own
 * host, so how hosts differ is no drift.
 *
 * A host drifts if its excess rises by the test of Mann and Kendall (base/stats/trend.h has the source),
 * so surely that no more than one run in 100 accuses anybody by chance, and from the first third of its
 * rotations to the last by more than the floor. About 12 rotations are the fewest that can tell it.
 *
 * A dip is an excess beyond max(spread_factor(values, 1) * deviation, floor). A host dips often if
 * chance, at the share of the other hosts' dips, gives so many to one host in 100 runs.
 */
#ifndef CCTEST_ACCEPT_JUDGE_DRIFT_H
#define CCTEST_ACCEPT_JUDGE_DRIFT_H

#include <stdbool.h>

/* A number of each host, in each rotation. */
struct drift_series {
    bool less_is_better;
    double floor;  /* a share: what is worse by less is neither drift nor dip */
    double judged; /* hosts, times the series that a run judges */
    int rotations, hosts;
    const double *values; /* [rotation * hosts + host]; 0: not measured */
};

struct drift {
    int measured;       /* rotations */
    double first, last; /* the medians of its first and its last third */
    double worse;       /* from one to the other, beside the fleet: a share; below 0: better */
    bool drifts;
    int dips, worst;   /* the rotation of the deepest, from 0 */
    double dips_share; /* of the other hosts' rotations, that are dips */
    bool dips_often;
};

/* Finds the drift of each host. False: out of memory. */
bool drifts_find(const struct drift_series *series, struct drift *drifts);

#endif
