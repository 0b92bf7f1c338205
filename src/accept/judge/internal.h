/*
 * internal.h - the excess, the limits and the cells that the judges share with each other.
 */
#ifndef CCTEST_ACCEPT_JUDGE_INTERNAL_H
#define CCTEST_ACCEPT_JUDGE_INTERNAL_H

#include "accept/judge/judge.h"
#include "accept/judge/network.h"

/* ---- Excess ---- */

bool is_less_better(enum metric metric);

double worse_by(bool less_is_better, double value, double than);
double worse_share(bool less_is_better, double share);               /* of a share */
double worse_value(bool less_is_better, double than, double excess); /* the value that has it */

/* The same of a metric: losses have their start. */
double metric_excess(enum metric metric, double value, double reference);
double metric_value(enum metric metric, double reference, double excess);

/* ---- Cells of a fleet ---- */

int fleet_find(const struct fleet *fleet, enum metric metric, int rail, enum direction direction);

/* The series in which the sender and the receiver of a reading stand. */
int fleet_from(const struct fleet *fleet, const struct reading *reading);
int fleet_to(const struct fleet *fleet, const struct reading *reading);

/* Are the numbers of a reading in range? */
bool fleet_has(const struct fleet *fleet, const struct reading *reading);
double fleet_excess(const struct fleet *fleet, const struct reading *reading);

/* The value of an excess of a link in a series of its host. */
double fleet_link_value(const struct fleet *fleet, int series, int host, int peer, double excess);

/* The largest excess of a cell's readings with partners that are not slow, and the least of all;
 * NAN without readings. */
double fleet_worst(const struct fleet *fleet, int series, int host);
double fleet_best(const struct fleet *fleet, int series, int host);

/* ---- Limits ---- */

struct series_limit {
    double reading;   /* the limit of a reading by the fleet */
    double deviation; /* of single readings, excess */
    double changed;   /* of the fleet, since the earlier run */
};

/* Counts of healthy readings, and of those beyond their limits. */
struct healthy_readings {
    double count, beyond, beyond_reading;
    double *count_of, *beyond_of; /* of each host, the first two */
};

/* Takes another limit, if it is stricter. */
void limit_tighten(struct excess_limit *limit, double excess, enum reference reference);

/* The limits of a fleet, by the readings that it was made from. The fleet and the memory that the
 * references point to must stay until limits_free(). */
struct limits *limits_create(const struct fleet *fleet, const struct references *references,
                             const struct reading *readings, size_t count);
void limits_free(struct limits *limits); /* NULL is allowed */

struct excess_limit limits_cell(const struct limits *limits, int series, int host);
struct excess_limit limits_reading(const struct limits *limits, const struct reading *reading);

/* Is the level of a cell beyond its limit? Not without readings. */
bool limits_exceeds(const struct limits *limits, int series, int host);

/* The share of healthy readings that are beyond the limit of their cell, or beyond their own: how
 * often noise looks like a fault. From s of n it estimates (s + 1) / (n + 2) (Laplace's rule of
 * succession), so that none is 0. `beyond`: of `healthy` readings of struct healthy_readings,
 * both without the readings of the suspect in question. */
double limits_share(double beyond, double healthy);

/* ---- Suspects ---- */

#define PATIENCE_NOW 4 /* of a host that is slow now and then */

/* Finds those of the readings that the fleet was made from. */
void suspects_find(struct isolation *isolation, const struct reading *readings, size_t count);

bool suspect_is_failing(const struct suspect *suspect); /* else it is slow */

/* The complaint that a suspect is merged by. */
enum complaint suspect_complaint(const struct isolation *isolation, const struct suspect *suspect);

/* The suspect by slowness, or by failures, NULL if there is none. A latency is in either order. */
struct suspect *suspect_find(const struct isolation *isolation, int host, int peer, int series,
                             bool failing);

/* The excess of a value of a suspected link, compared with links of its distance. */
double suspect_excess(const struct isolation *isolation, const struct suspect *link, double value);

/* Has the host a suspect, itself and no link, in a series (-1: any) that was not cleared? */
bool host_is_suspected(const struct isolation *isolation, int host, int series);

/* Keeps the partner with which a reading showed it. */
void suspect_keep_partner(struct suspect *suspect, const struct reading *reading);

/* Both ends of a failed reading and the link between them become suspects. */
void suspect_failure(struct isolation *isolation, const struct reading *reading);

/* The link of a reading with a value that is beyond its limit becomes a suspect, unless an end is
 * one. */
void suspect_link(struct isolation *isolation, const struct reading *reading);

/* A host that is slow in a reading, although its level is good, becomes a suspect, or is one
 * again. */
void suspect_again(struct isolation *isolation, int host, int series, struct excess_limit limit,
                   double excess);

/* ---- Facts ---- */

bool expected_fact_is_met(const struct expected_fact *expectation,
                          const struct inventory_fact *fact);

#endif
