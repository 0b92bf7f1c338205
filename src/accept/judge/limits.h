/*
 * limits.h - from where on a host or a link of a fleet is a suspect.
 *
 * A cell's limit is the strictest of its yardsticks, and so is a single reading's. The one of a
 * single reading is wider, since a level is steadier than a reading.
 *
 * The fleet as the yardstick: a level is beyond the limit if its excess is above
 *
 *     median + max(factor * deviation, floor)
 *
 * with the median and the deviation of the levels of its series, and the factor of spread_factor()
 * for all cells together. A single reading likewise, with the deviation of the readings of hosts
 * within their limits. A suspect costs no more than a measurement again, which accuses or clears
 * it, so each factor allows for some false alarms: one cell in a run, and as many pairs as fit
 * into one round. The floor keeps equal hosts from accusing each other over 1%.
 */
#ifndef CCTEST_ACCEPT_JUDGE_LIMITS_H
#define CCTEST_ACCEPT_JUDGE_LIMITS_H

#include "accept/judge/fleet.h"

/* What a value is held against. */
enum yardstick {
    YARDSTICK_FLEET,   /* the median, and so many deviations */
    YARDSTICK_RATE,    /* the rate of the link: RATE_LEAST of it, where the fleet has RATE_FLEET */
    YARDSTICK_EARLIER, /* an earlier run, after what changed for the whole fleet */
    YARDSTICK_PROFILE, /* what a file asks for */
    YARDSTICK_FAILURE, /* a pair failed */
    YARDSTICK_RAILS,   /* the other rails of the fleet */
    YARDSTICKS,
};

#define RATE_LEAST 0.7 /* of the link's rate */
#define RATE_FLEET 0.9

/* A number beside the fleet's, in the metric's unit. */
struct reason {
    enum metric metric;
    enum yardstick yardstick;
    double value, median, deviation, threshold;
};

struct yardsticks {
    double floor[METRICS]; /* what is worse by less than this share is never a suspect */
    double latency_floor;  /* us, likewise */
    double earlier_floor;  /* the share that a host may lose since the earlier run */
    const double *rates;   /* GB/s of each rail's link in one direction, 0: not known; NULL */
    double asked[METRICS]; /* the profile: at most so many us, at least GB/s; 0: nothing */
    const struct reading *earlier; /* of a run of hosts with the same numbers; NULL */
    size_t earlier_count;
};

/* Floors of 5% for bandwidths and of 15% and 0.5 us for latencies, 10% since an earlier run; no
 * yardstick but the fleet. */
struct yardsticks yardsticks_default(void);

/* A yardstick that the fleet itself misses: it accuses no host then. */
struct fleet_note {
    enum yardstick yardstick;
    int series;
    double value, threshold; /* the fleet's median, and what it should be; in the metric's unit */
};

struct excess_limit {
    double excess;
    enum yardstick yardstick;
};

struct limits;

/* Of a fleet, with the readings that it was made from. The fleet and what the yardsticks point to
 * must stay until limits_free(). NULL: out of memory. */
struct limits *limits_create(const struct fleet *fleet, const struct yardsticks *yardsticks,
                             const struct reading *readings, size_t count);
void limits_free(struct limits *limits); /* NULL is allowed */

/* The limit of a cell, and of a single reading. */
struct excess_limit limits_cell(const struct limits *limits, int series, int host);
struct excess_limit limits_reading(const struct limits *limits, const struct reading *reading);

/* Is the level of a cell beyond its limit? Not without readings. */
bool limits_exceeds(const struct limits *limits, int series, int host);

/* The deviation of single readings in a series, excess. */
double limits_deviation(const struct limits *limits, int series);

/* The shares of healthy readings that are beyond the limit of their cell, and beyond their own:
 * how often noise looks like sickness. From s of n it estimates (s + 1) / (n + 2) (Laplace's rule
 * of succession), so that none is 0. `own` of the readings beyond are those of the suspect in
 * question, and do not count. */
double limits_share(const struct limits *limits);
double limits_reading_share(const struct limits *limits, int own);

int limits_note_count(const struct limits *limits);
const struct fleet_note *limits_notes(const struct limits *limits);

#endif
