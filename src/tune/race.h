/*
 * race.h - which algorithms of one collective, number of ranks and size are measured again, and which
 * is the winner.
 *
 * Rounds: in each the racers are measured one after the other, by a job of their own, so that slow
 * noise and the luck of a start hit all of them, and none in all rounds (S. Hunold and A. Carpen-Amarie,
 * Reproducible MPI Benchmarking is Still Not as Easy as You Think, IEEE TPDS 27(12), 2016). After each
 * round the slower half is out, and whatever is far behind: successive halving (Z. Karnin, T. Koren and O.
 * Somekh, Almost Optimal Exploration in Multi-Armed Bandits, ICML 2013), with two racers left at
 * least, so that the winner's margin is known. A model may prune algorithms before the first round.
 *
 * One round may be slower than another for all racers. The level of a round is the median, over the racers
 * that were in all rounds, of their time in it over their own median. The time of a racer is the median of
 * its times over the levels of their rounds. So a racer that was put out after a slow round is not slow for
 * that; it is no faster than those that stayed, either, however lucky its few rounds were.
 *
 * Pure: no clock, no processes.
 */
#ifndef CCTEST_TUNE_RACE_H
#define CCTEST_TUNE_RACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "collective/collective.h"

#define ROUNDS_MOST     9
#define RACER_TEXT_MOST 160
#define RACERS_MOST     128

struct racer {
    char text[RACER_TEXT_MOST]; /* as -a takes it */
    double times[ROUNDS_MOST];  /* us: the median of the iterations of each round, from the first on */
    double time;                /* us, as of race_times(); 0: it was not measured */
    double least;               /* us: of all iterations; 0: none */
    int rounds;                 /* that it was measured in */
    bool out;                   /* it is measured no more */
    bool wrong;                 /* its data was; then it is out, too */
};

/* An algorithm before its first measurement, with what a model says of it. */
struct entrant {
    char text[RACER_TEXT_MOST]; /* as -a takes it */
    double predicted;           /* us; 0: not known */
    bool far;                   /* predicted to be far behind the best */
};

struct race {
    const struct collective *collective;
    int ranks, nodes;
    size_t asked, bytes; /* of the sweep; as it became, 0 before the first round */
    struct racer *racers;
    int count, room;
    int rounds;
    struct entrant *pruned; /* that were not measured, since a model leaves them far behind */
    int pruned_count;
    char transport[64]; /* that connected the ranks: "shm", "shm+tcp"; "" before the first round */
    double guess;       /* us: what an iteration may take, before the first round; 0: not known */
};

/* The racer of this name; a new one if there is none. NULL: out of memory, or there are too many. */
struct racer *race_racer(struct race *race, const char *text);
void race_free(struct race *race);

/* Finds the time of each racer, by the rounds so far. */
void race_times(struct race *race);

/* The least and greatest of its rounds, over their median, times its time. Of 6 rounds or more it is an
 * interval of the median of 95% at least: 1 - 2/2^6. */
void racer_interval(const struct racer *racer, double *low, double *high);

/* Marks what is predicted to take more than 3 times as long as the best prediction; not among the 3
 * fastest, and never an algorithm of which nothing is predicted. How many winners that costs:
 * tests/bench/README.md. */
void entrants_prune(struct entrant *entrants, int count);

/* After a round: finds the times, and puts out the slower half, and what is far behind even in its best iteration. In the
 * first two rounds, none is out whose best iteration is as fast as the median of the best, nor one that was near
 * the best at the next smaller size (`last`; NULL: there is none): a job that something disturbs may be slow in
 * all of its iterations. */
void race_prune(struct race *race, const struct race *last);

/* Racers that are not out. */
int race_left(const struct race *race);

/* Is another round of no use: there were enough, or one racer is left? */
bool race_is_settled(const struct race *race);

/* The best first: those that are not out, then the others; wrong ones, and those without a time, last. */
void race_sort(struct race *race);

/* The time of the second over that of the first, of a sorted race; 0: there is no second. */
double race_margin(const struct race *race);

/* How many iterations a round of a racer of that time (us) has: many of a short one, few of a long
 * one. */
long round_iterations(double time);

/* Is a racer worth a measurement at a size, after its times at the two next smaller ones (the
 * smaller first; NULL: there is none)? Not if it was far behind at the last, was behind at the one before, and
 * the trend of the two leaves it far behind. */
bool racer_is_hopeful(const char *text, const struct race *before, const struct race *last);

#endif
