/*
 * switches.h - what the layout of a network adds: hosts of different switches that exchange, and
 * sick hosts that stand behind one switch.
 */
#ifndef CCTEST_ACCEPT_JUDGE_SWITCHES_H
#define CCTEST_ACCEPT_JUDGE_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accept/judge/rounds.h"

/* The hosts of a run by switches of one level. */
struct switch_level {
    int count;   /* switches that have hosts; 0: the level is not known */
    char **name; /* of each switch */
    int *of;     /* the switch of each host; -1: not known */
};

void switch_level_free(struct switch_level *level); /* zeroed is allowed */

/* How many switches these hosts stand behind. -1: out of memory. */
int switches_used(const struct switch_level *level, const int *hosts, int count);

/* Pairs of hosts behind different switches. Each switch goes to the side that has fewer hosts, the
 * largest switch first, equal ones in random order; each pair has a random host of both sides, and
 * no host is in two. `pairs` has room for count / 2. *random is a state of random_next(). Returns
 * how many pairs, 0 of one switch; -1: out of memory. */
int switches_pairs(const struct switch_level *level, const int *hosts, int count, uint64_t *random,
                   struct host_pair *pairs);

/*
 * The switch that all sick hosts stand behind; -1: there is none, or it says nothing. It says
 * something if so many hosts that are picked at random seldom stand behind one switch: with
 * probability
 *
 *     sum over all switches of C(hosts of the switch, sick) / C(hosts, sick)  <=  CHANCE_MOST
 */
#define CHANCE_MOST 0.05
int switches_common(const struct switch_level *level, int hosts, const bool *sick);

#endif
