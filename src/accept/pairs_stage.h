/*
 * pairs_stage.h - the stages pairs and isolate: hosts meet in disjoint pairs, and suspects meet
 * hosts that were only ever good until each is confirmed or cleared (screening/).
 */
#ifndef CCTEST_ACCEPT_PAIRS_STAGE_H
#define CCTEST_ACCEPT_PAIRS_STAGE_H

#include "accept/acceptance.h"

/* Sets acceptance->paired, and acceptance->fleet. */
enum status pairs_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* Sets acceptance->isolated. */
enum status isolate_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* In its place, where it is left out: what failed in pairs makes suspects, and what was slow is noted. */
enum status isolate_stage_miss(struct acceptance *acceptance, struct stage_result *pairs);

#endif
