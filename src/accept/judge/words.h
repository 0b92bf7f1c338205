/*
 * words.h - a finding as one sentence.
 */
#ifndef CCTEST_ACCEPT_JUDGE_WORDS_H
#define CCTEST_ACCEPT_JUDGE_WORDS_H

#include "accept/judge/compare.h"

#define FINDING_TEXT_MOST 512

/* "n17: mlx5_2 runs at 200 Gb/s; 63 of 64 hosts have 400". Returns `text`. */
const char *finding_text(const struct inventory_finding *finding,
                         const struct inventory_host *hosts, char text[FINDING_TEXT_MOST]);

#endif
