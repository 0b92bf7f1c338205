/*
 * isolation.h - measures suspects again until each is confirmed or cleared.
 *
 * A suspected host meets a host that was only ever good, another one in each round; a suspected
 * link is measured again. All suspects are measured at once where their pairs are disjoint, so the
 * number of rounds depends on how often a suspect must be seen, and not on the size of the fleet;
 * some more are needed where suspects meet in one host. Of the links between different switches, each
 * switch has one at a time, so that what many share at once is not taken for a fault of one of them.
 *
 * What made a suspect is no evidence, since the worst of many healthy readings look sick. Evidence
 * is what is measured afterwards. Let q be the share of healthy readings beyond such a limit
 * (limits_share()), and M the number of suspects. A suspect of which h of n readings were beyond
 * the limit is confirmed when h >= 2 and
 *
 *     M * P(at least h of n, each with q) <= FALSE_ALARMS / N
 *
 * (the binomial tail, and Bonferroni's inequality over M suspects, each judged up to N times). It
 * is cleared when 2 readings are good and none is bad, or when N = 6 were not enough; a host that
 * seems slow now and then, when 4 are good or N = 10 were not enough. A failure needs one more
 * failure, with another partner that is good elsewhere, and 6 good readings clear it. So a suspect
 * takes 2 or 3 rounds, rarely more.
 */
#ifndef CCTEST_ACCEPT_JUDGE_ISOLATION_H
#define CCTEST_ACCEPT_JUDGE_ISOLATION_H

#include <stdint.h>

#include "accept/judge/rounds.h"
#include "accept/judge/suspicion.h"

struct isolation;

/* From the readings that the fleet was made from. The fleet and its limits must stay until
 * isolation_free(). The same seed makes the same rounds. NULL: out of memory. */
struct isolation *isolation_create(const struct fleet *fleet, const struct limits *limits,
                                   const struct reading *readings, size_t count, uint64_t seed);
void isolation_free(struct isolation *isolation); /* NULL is allowed */

/* The pairs of the next round, among the hosts that are present: all metrics and directions of each are
 * to be measured on *rails (1 << rail), those of suspects that are open. Returns how many, 0: it is done.
 * Suspects that are still open then have no partner that is good. -1: out of memory. `pairs` has room
 * for hosts / 2. */
int isolation_pairs(struct isolation *isolation, const bool *present, struct host_pair *pairs,
                    uint64_t *rails);

/* Takes what a round brought. A failure of a pair that is no suspect makes new suspects. False: out
 * of memory. */
bool isolation_add(struct isolation *isolation, const struct reading *readings, size_t count);

/* Has isolation_pairs() said that it is done? Else suspects may be open that were not tried again. */
bool isolation_is_done(const struct isolation *isolation);

const struct suspicion *isolation_suspicion(const struct isolation *isolation);

#endif
