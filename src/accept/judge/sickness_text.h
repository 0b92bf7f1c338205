/*
 * sickness_text.h - sentences: of what is sick, of what the whole fleet misses, and of what a small
 * fleet cannot tell.
 */
#ifndef CCTEST_ACCEPT_JUDGE_SICKNESS_TEXT_H
#define CCTEST_ACCEPT_JUDGE_SICKNESS_TEXT_H

#include "base/text.h"
#include "accept/judge/sickness.h"

/* Names of all hosts, and of all rails; rails NULL: they have none, and are told by number. */
struct fleet_names {
    const char *const *hosts, *const *rails;
};

/* Adds one sentence:
 *
 *     n17: sends at 3.1 GB/s, the fleet's median is 11.8 (spread 0.2, threshold 10.9): confirmed
 *         with n02 and n31
 *     n17: mlx5_2 receives wrong data: confirmed with n02, n31, n40 and others
 *     link n3-n9: n3 sends to n9 at 3.1 GB/s, the fleet's median is ...: confirmed in 3 of 3
 *         measurements
 *     link n3-n9 on mlx5_2: n3 sends to n9 at 3.1 GB/s, ...
 *     n3, n9 or the link between them: a worker was lost: not seen again in 6 measurements */
void sickness_put(const struct sickness *sickness, const struct fleet_names *names,
                  struct text *text);

/* Adds what a series is: "bandwidth one way of mlx5_2 (sent)", "latency". */
void series_name_put(const struct fleet *fleet, int series, const struct fleet_names *names,
                     struct text *text);

/* Adds what the fleet misses: "all hosts: the median of what they send alone is 5 GB/s, ..." */
void fleet_note_put(const struct fleet_note *note, const struct fleet *fleet,
                    const struct fleet_names *names, struct text *text);

/* What a fleet of so few hosts cannot tell; NULL from 4 hosts on. */
const char *fleet_size_remark(int hosts);

/* "threshold", "threshold by the profile": what a reason's is. */
extern const char *const threshold_words[YARDSTICKS];

const char *metric_unit(enum metric metric);

#endif
