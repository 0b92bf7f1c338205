/*
 * round.h - one round of one race: a small job, and what came of it.
 */
#ifndef CCTEST_TUNE_ROUND_H
#define CCTEST_TUNE_ROUND_H

#include "tune/state.h"

/* Measures the racers of `names` (separated by commas, or "all") once, and enters their times. `first`:
 * every byte is checked in one more iteration. STATUS_INTERRUPTED, or out of memory; a job that fails
 * is counted in the tuner. */
enum status round_run(struct tuner *tuner, struct race *race, const char *names, bool first);

/* Seconds that the next round of a race may take. */
double round_seconds(const struct race *race);

#endif
