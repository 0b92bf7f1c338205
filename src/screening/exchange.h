/*
 * exchange.h - what shows only when many hosts talk at once: transfers beside what their pairs
 * promise.
 *
 * A pair promises the slower of what its sender sends and its receiver receives, as the levels of
 * METRIC_BOTH show it when nobody else talks. A transfer's share is its value / that promise. A
 * network without blocking has shares near 1 however many talk. The share of a group (a half, the
 * hosts of a switch) is the median of its transfers'. A group stands out when its share is below
 *
 *     the median of the groups' shares * exp(-max(factor * deviation, floor)),
 *
 * and the whole is congested when the median of all shares is below SHARE_LEAST.
 */
#ifndef CCTEST_SCREENING_EXCHANGE_H
#define CCTEST_SCREENING_EXCHANGE_H

#include "screening/fleet.h"

#define SHARE_LEAST      0.8 /* of what pairs promise */
#define GROUP_FLOOR      0.1 /* groups that are worse than the others by less do not stand out */
#define COLLECTIVE_LEAST 0.5 /* of what the slowest host allows */

struct exchange_group {
    int transfers;
    double share; /* the median; 0 without transfers */
    bool stands_out;
};

struct exchange_shares {
    int transfers; /* that have a value and a promise */
    double share;  /* the median of all */
    bool congested;
    double median, deviation, threshold; /* of the groups' shares */
};

/* GB/s from one host to another on a rail while both send; 0: a host has no level there. */
double exchange_promise(const struct fleet *fleet, int from, int to, int rail);

/* Judges transfers that ran at once. `group_of` each host is from 0 to group_count - 1, or -1:
 * none; a transfer belongs to the groups of its ends if these differ. `groups` has group_count
 * elements. False: out of memory. */
bool exchange_judge(const struct fleet *fleet, const struct reading *transfers, size_t count,
                    const int *group_of, int group_count, struct exchange_group *groups,
                    struct exchange_shares *shares);

/* The slowest host among the present ones, by what it sends or receives on all rails together while
 * it does both; GB/s. Returns its number, -1 if none has levels. */
int exchange_slowest(const struct fleet *fleet, const bool *present, double *rate);

/*
 * The least time of a collective over `hosts` hosts with `ranks` ranks each, in us, if its slowest
 * host moves `rate` GB/s in each direction. `bytes` as in the table: of a rank's buffer.
 *
 *     allreduce:  2 * (hosts - 1) / hosts * bytes / rate
 *     alltoall:   ranks * bytes * (hosts - 1) / hosts / rate
 *
 * An allreduce sends that from each host at least (Patarasuk, Yuan, "Bandwidth optimal all-reduce
 * algorithms for clusters of workstations", JPDC 2009); an alltoall sends the blocks of all other
 * hosts. A collective that takes longer than this / COLLECTIVE_LEAST at a large size is slower than
 * its slowest host explains.
 */
double allreduce_least_us(int hosts, double bytes, double rate);
double alltoall_least_us(int hosts, int ranks, double bytes, double rate);

#endif
