/*
 * state.h - the state of a tuning run at rank 0: types only.
 */
#ifndef CCTEST_TUNE_STATE_H
#define CCTEST_TUNE_STATE_H

#include "controlplane/agents/coordinator.h"
#include "run/job.h"
#include "tune/race.h"
#include "tune/tune_options.h"

struct tune_report;
struct tuner;

/* A model. */
struct forecast {
    /* All algorithms that accept the ranks of a race, RACERS_MOST at most, with their predicted times
     * (0: it cannot tell, or clock_seconds() was past `until`). `agents`: where the ranks sit. Called in
     * rank 0's only thread, between jobs. Error: out of memory. */
    enum status (*predict)(struct forecast *forecast, const struct race *race,
                           const struct known_agent *agents, double until,
                           struct entrant entrants[RACERS_MOST], int *count);
};

struct tuner {
    const struct job *job;
    const struct tune_options *asked;
    const char *options; /* of every small job, each behind a blank */
    const char *bootstrap;
    struct tune_report *report;
    struct forecast *forecast; /* NULL: none */
    double forecast_seconds;   /* that it took so far */
    int unpredicted;           /* algorithms of which it said nothing */
    struct coordinator *coordinator;
    const struct roster *roster;
    struct race *races; /* in the order of the table: by collective, ranks and size */
    int race_count, race_room;
    int unmeasured;    /* races that the time did not suffice for */
    int jobs, failed;  /* small jobs so far, and those of them that failed */
    long wrong;        /* lines with wrong data */
    double began, end; /* clock_seconds(); `end`: of the budget */
    char why[400];     /* the first job that failed: a sentence */
};

/* Takes what is known, in rank 0's only thread. */
struct tune_report {
    /* Fails if the results cannot be written: nothing runs then. */
    enum status (*begin)(struct tune_report *report, const struct tuner *tuner);
    /* Before each small job: of which race, and in which of its rounds. */
    void (*running)(struct tune_report *report, const struct tuner *tuner, const struct race *race);
    /* All races have had a round more. */
    void (*round)(struct tune_report *report, const struct tuner *tuner);
    /* Returns the final status, a graver one if the results could not be written. */
    enum status (*end)(struct tune_report *report, const struct tuner *tuner, enum status status);
};

#endif
