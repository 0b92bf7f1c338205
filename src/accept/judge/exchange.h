/*
 * exchange.h - what shows only when many hosts talk at once: what pairs have then, beside what the
 * same pairs have when few talk.
 *
 * A transfer's share is its value when many talk / its value when few do. A network without blocking
 * has shares near 1 however many talk. The levels of a fleet are no yardstick for this: they come
 * from rounds in which all hosts talk. The whole is congested when the median of all shares is below
 * SHARE_LEAST.
 *
 * Groups are the hosts of a switch. A transfer between two groups belongs to both. The groups are
 * looked at from the worst median of its shares to the best. A group is congested when the median of
 * those of its transfers, TRANSFERS_LEAST at least, that no congested group before it has explained is
 * below SHARE_LEAST; it explains all its transfers. So a good switch that talked to a congested one is
 * not accused. Of two groups that talked only to each other the first one is taken for both.
 */
#ifndef CCTEST_ACCEPT_JUDGE_EXCHANGE_H
#define CCTEST_ACCEPT_JUDGE_EXCHANGE_H

#include "accept/judge/fleet.h"

#define SHARE_LEAST      0.8 /* of what pairs have when few talk */
#define TRANSFERS_LEAST  3   /* of a group: one alone may have been disturbed */
#define COLLECTIVE_LEAST 0.5 /* of what the slowest host allows */

/* From one host to another, in GB/s; 0: it was not measured. */
struct exchange_transfer {
    int from, to;
    double few, many; /* while few others talk, and while many do */
};

struct exchange_group {
    int transfers; /* with other groups, that have a share */
    double share;  /* their median; 0 without transfers */
    bool congested;
};

struct exchange_shares {
    int transfers; /* that have a share */
    double share;  /* the median of all */
    bool congested;
};

/* Judges transfers that ran at once. `group_of` each host is from 0 to group_count - 1, or -1: none.
 * `groups` has group_count elements. False: out of memory. */
bool exchange_judge(const struct exchange_transfer *transfers, size_t count, const int *group_of,
                    int group_count, struct exchange_group *groups, struct exchange_shares *shares);

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
 * hosts. A collective of so many steps (of a ring 2 * (all ranks - 1), of pairwise all ranks - 1) that
 * takes longer than
 *
 *     this / COLLECTIVE_LEAST + steps * the fleet's latency
 *
 * is slower than its slowest host explains.
 */
double allreduce_least_us(int hosts, double bytes, double rate);
double alltoall_least_us(int hosts, int ranks, double bytes, double rate);

#endif
