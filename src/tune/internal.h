/*
 * internal.h - for the files of tune/ alone.
 */
#ifndef CCTEST_TUNE_INTERNAL_H
#define CCTEST_TUNE_INTERNAL_H

#include "tune/tune.h"

/* ---- Which algorithms a round of a race has, as a small job takes them.
 *
 * The first round of a size has all of them, but for two kinds: those that the trend of the two
 * next smaller sizes leaves far behind, and, where that trend is not known, those that a model
 * predicts to be far behind. Measurements count for more than predictions.
 * ---- */

#define NAMES_MOST 2048 /* of the list of a job, which has to fit its command */

/* The race of the `by`th smaller size; NULL: there is none. */
const struct race *race_before(const struct tuner *tuner, const struct race *race, int by);

/* The names of the first round. Keeps in the race what a model prunes. Error: out of memory. */
enum status names_first(struct tuner *tuner, struct race *race, char names[NAMES_MOST]);

/* The names of a later round: the racers that are left. The order changes from round to round, so
 * that none always follows the same one. */
void names_left(const struct race *race, char names[NAMES_MOST]);

/* ---- forecast.c ---- */

/* All algorithms that accept the ranks of a race, RACERS_MOST at most, with their predicted times
 * (0: the model cannot tell, or clock_seconds() was past `until`). `agents`: where the ranks sit.
 * Error: out of memory. */
enum status forecast_predict(struct forecast *forecast, const struct race *race,
                             const struct known_agent *agents, double until,
                             struct entrant entrants[RACERS_MOST], int *count);

/* ---- race.c ---- */

/* Measures the racers of `names` (separated by commas, or "all") once, and enters their times.
 * `first`: every byte is checked in one more iteration. STATUS_INTERRUPTED, or out of memory; a job
 * that fails is counted in the tuner. */
enum status round_run(struct tuner *tuner, struct race *race, const char *names, bool first);

/* Seconds that the next round of a race may take. */
double round_seconds(const struct race *race);

/* ---- tuner.c ---- */

/* The numbers of ranks, of `all`, that are measured unless --rank-counts names others: powers of
 * two, the numbers halfway between two of them, and all: 2, 3, 4, 6, 8, 12 ... Returns how many. */
int tuner_ranks_default(int all, int ranks[TUNE_RANKS_MOST]);

/* The status of the run, once the races are over. A job that failed is an error, although the
 * winners of the others are known. */
enum status tuner_judge(const struct tuner *tuner);

#endif
