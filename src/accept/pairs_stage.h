/*
 * pairs_stage.h - hosts meet in disjoint pairs, several rounds of them (accept/judge/rounds.h).
 */
#ifndef CCTEST_ACCEPT_PAIRS_STAGE_H
#define CCTEST_ACCEPT_PAIRS_STAGE_H

#include "accept/acceptance.h"

/* Sets acceptance->paired, and acceptance->fleet. */
enum status pairs_stage_run(struct acceptance *acceptance, struct stage_result *result);

#endif
