/*
 * network.h - what hosts share: switches, parts of a fleet, and what shows only when many hosts
 * talk at once.
 */
#ifndef CCTEST_ACCEPT_JUDGE_NETWORK_H
#define CCTEST_ACCEPT_JUDGE_NETWORK_H

#include "accept/judge/judge.h"

/* ---- What shows only when many hosts talk at once.
 *
 * A transfer's share is its value when many talk / its value when few do. A network without
 * blocking has shares near 1 however many talk. The levels of a fleet are no reference for this:
 * they come from rounds in which all hosts talk. The whole is congested when the median of all
 * shares is below SHARE_LEAST.
 *
 * Groups are the hosts of a switch. A transfer between two groups belongs to both. The groups are
 * looked at from the one of which the most transfers are below SHARE_LEAST to the one of which the
 * fewest are, and among equals from the worst median to the best. A group is congested when the
 * median of those of its transfers, TRANSFERS_LEAST at least, that no congested group before it has
 * explained is below SHARE_LEAST; it explains all its transfers. So a good switch that talked to a
 * congested one is no suspect. Of two groups that talked only to each other the first one is taken
 * for both.
 * ---- */

#define SHARE_LEAST      0.8 /* of what pairs have when few talk */
#define TRANSFERS_LEAST  3   /* of a group: one alone may have been disturbed */
#define COLLECTIVE_LEAST 0.5 /* of what the slowest host allows */

/* From one host to another, in GB/s; 0: it was not measured. */
struct exchange_transfer {
    int from, to;
    double few, many; /* while few others talk, and while many do */
};

/* Transfers that have a share: of a group those with other groups. */
struct exchange_group {
    int transfers;
    double share; /* their median; 0 without transfers */
    bool congested;
};

/* Judges transfers that ran at once. `group_of` each host is from 0 to group_count - 1, or -1:
 * none. `groups` has group_count elements. Returns all transfers as one group. */
struct exchange_group exchange_judge(const struct exchange_transfer *transfers, size_t count,
                                     const int *group_of, int group_count,
                                     struct exchange_group *groups);

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
 * hosts. A collective of so many steps (of a ring 2 * (all ranks - 1), of pairwise all ranks - 1)
 * that takes longer than
 *
 *     this / COLLECTIVE_LEAST + steps * the fleet's latency
 *
 * is slower than its slowest host explains.
 */
double allreduce_least_us(int hosts, double bytes, double rate);
double alltoall_least_us(int hosts, int ranks, double bytes, double rate);

/* ---- The layout of a network ---- */

/* The hosts of a run by switches of one level. */
struct switch_level {
    int count;     /* switches that have hosts; 0: the level is not known */
    char **name;   /* of each switch */
    int *switches; /* the switch of each host; -1: not known */
    bool inferred; /* no file tells it: parts of the fleet that its pairs showed (cut_find()) */
};

void switch_level_free(struct switch_level *level); /* zeroed is allowed */

/* How many switches these hosts stand behind. */
int switches_used(const struct switch_level *level, const int *hosts, int count);

/* Pairs of hosts behind different switches. Each switch goes to the side that has fewer hosts, the
 * largest switch first, equal ones in random order; each pair has a random host of both sides, and
 * no host is in two. `pairs` has room for count / 2. *random is a state of random_next(). Returns
 * how many pairs, 0 of one switch. */
int switches_pairs(const struct switch_level *level, const int *hosts, int count, uint64_t *random,
                   struct host_pair *pairs);

/*
 * The switch that all faulty hosts stand behind; -1: there is none, or it says nothing. It says
 * something if so many hosts that are picked at random seldom stand behind one switch: with
 * probability
 *
 *     sum over all switches of C(hosts of the switch, faulty) / C(hosts, faulty)  <=  CHANCE_MOST
 */
#define CHANCE_MOST 0.05
int switches_common(const struct switch_level *level, int hosts, const bool *faulty);

/* ---- A fleet in two parts, whose pairs across are slow: a switch that nobody has named.
 *
 * A pair's bandwidths, one way and both ways at once, count by the mean of their excess beyond that
 * of the slower host, which is the best of the host's own. The two parts are the signs of the
 * vector that makes the pairs across the slowest (the spectral method of Donath and Hoffman, "Lower
 * bounds for the partitioning of graphs", 1973), improved by moving single hosts. Each part has 3
 * hosts at least: two slow hosts look like a part of two.
 *
 * The best of many parts is slow by chance. So new measurements decide where the mean pair across
 * is slower than the mean one inside by 0.1: as many pairs exchange at once across the parts as
 * inside them, twice each. The parts are true if the median pair across has less than SHARE_LEAST
 * of the median pair inside the slower part, both times. A part of slow hosts is slow inside, too,
 * and busy cores slow down both.
 * ---- */

/* `readings`: those of the fleet, of which this rail's count. `side`: of each host, 0 or 1; -1: it
 * has no pair. False: no two parts are worth new measurements. */
bool cut_find(const struct fleet *fleet, const struct reading *readings, size_t count, int rail,
              uint64_t seed, int *side);

/* The two parts of a fleet, as cut_find() has them, from what transfers between hosts 0 to
 * hosts - 1 have where many talk. */
bool cut_of_transfers(const struct exchange_transfer *transfers, size_t count, int hosts,
                      uint64_t seed, int *side);

/* As many disjoint pairs of these hosts across the parts as inside them, or the other way round.
 * Returns how many; `pairs` has room for count / 2. */
int cut_pairs(const int *hosts, int count, const int *side, bool across, uint64_t *random,
              struct host_pair *pairs);

/* The median rate of pairs across; of pairs inside, that of the slower part; 0: there are none. */
double cut_median(const struct host_pair *pairs, const double *rates, int count, const int *side);

#endif
