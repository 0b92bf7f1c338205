/*
 * rounds.h - which hosts meet in which round: rounds of disjoint pairs, so that a whole fleet is
 * measured at the same time and no host has two partners at once.
 *
 * The circle method (Kirkman, "On a Problem in Combinations", 1847) arranges n hosts, n even, into
 * n - 1 rounds in which each host meets each other once: host n - 1 stays, the others turn. In
 * round r the hosts i and j meet where i + j = r modulo n - 1, and the last host meets the one
 * with 2 * i = r. With n odd a host is missing, and its partner sits out: each host does so once.
 *
 *     n = 6   round 0: 5-0 1-4 2-3   round 1: 5-3 0-1 4-2   round 2: 5-1 0-2 3-4  ...
 *
 * All rounds are all pairs. A part of the rounds, of hosts whose places on the circle were
 * shuffled, is a set of random matchings in which no pair meets twice.
 */
#ifndef CCTEST_ACCEPT_JUDGE_ROUNDS_H
#define CCTEST_ACCEPT_JUDGE_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

struct host_pair {
    int a, b;
};

struct rounds; /* a plan */

/* How many rounds there are of all pairs: 0 for one host. */
int rounds_all(int hosts);

/* So many rounds that each host meets log2(hosts) others, and at least 7, or all others of a small
 * fleet. log2(hosts) rounds of random matchings join all hosts by short paths. The median of 7
 * readings stands up to 3 that are disturbed or have a sick partner; with 3 partners, a sickness
 * that shows now and then is often not seen (make fleets). One more where a host sits out. */
int rounds_enough(int hosts);

/* A plan of `count` rounds, at most rounds_all(hosts), of hosts from 0, hosts > 0. The same seed
 * makes the same plan. NULL: out of memory. */
struct rounds *rounds_plan(int hosts, int count, uint64_t seed);

void rounds_free(struct rounds *rounds); /* NULL is allowed */

/* The pairs of a round, counted from 0, among the hosts that are present; returns how many. Hosts
 * whose partners are absent meet each other instead, unless the plan has that pair in some round.
 * `pairs` has room for hosts / 2. */
int rounds_pairs(const struct rounds *rounds, int round, const bool *present,
                 struct host_pair *pairs);

#endif
