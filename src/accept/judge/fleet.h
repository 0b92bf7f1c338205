/*
 * fleet.h - a fleet as its pairs showed it: how good each host is in each series, and how good
 * hosts are there in general.
 *
 * A series is a metric on a rail in a direction: each host has a place in it. A cell is a host in a
 * series. Its readings are those of all its partners.
 *
 * Readings are compared as excess: the natural logarithm of how much worse a reading is than usual,
 *
 *     excess = ln(reference / value) of a bandwidth,   ln(value / reference) of a latency
 *
 * so 0.1 is about 10% worse, a series with noise in proportion has the same spread at every speed,
 * and worse is larger in both. The reference is the median of all readings of the metric and rail.
 * A reading that failed has an infinite excess.
 *
 * Where switches are known, pairs of one switch and pairs of different ones have a reference each,
 * since distance is no sickness. Rounds are not planned for that: of random pairs of n hosts, m
 * behind each switch, a share of (m - 1) / (n - 1) is of one switch. That is enough for a median of
 * the fleet (64 hosts, 16 behind each switch: 53 pairs of 224), and a host needs no readings of both
 * kinds, since each is held against its own. Latencies always are. For bandwidths, both kinds have
 * at least 8 readings, and no host has a part in more than half of those of one kind, else all are
 * held against the common median: a host alone on its switch would be held against itself. So its
 * bandwidth is judged, and its latency is not. Distances beyond that, as in a network of several
 * levels, are one kind.
 *
 * A cell's level is the lower median of its readings: the value in the middle, or the better of
 * two. A sick partner, or one disturbed reading, does not move it as long as as many were good.
 *
 * The fleet is the median of the levels, not of the readings: in a fleet of 4 with one sick host
 * half of the readings are slow, but one level in 4.
 */
#ifndef CCTEST_ACCEPT_JUDGE_FLEET_H
#define CCTEST_ACCEPT_JUDGE_FLEET_H

#include <stdbool.h>
#include <stddef.h>

#include "accept/judge/reading.h"
#include "base/stats/spread.h"
#include "host/nics.h"

struct fleet_config {
    int hosts, rails;    /* at least 1; rails at most RAILS_MOST */
    const int *switches; /* of each host, from 0, below hosts; -1: not known, of this one; NULL */
};

struct series {
    enum metric metric;
    int rail;
    enum direction direction; /* of the host; a latency is in DIRECTION_SEND for both hosts */
    double reference;         /* the value whose excess is 0; 0 without values */
    struct spread levels;     /* of the hosts whose level is finite: excess */
    double noise;             /* of a level, from that of its readings; not above the deviation */
};

struct fleet;

/* Learns a fleet from its readings, which it does not keep. Readings with numbers out of range are
 * left out; a value that is no positive number is a READING_ERROR. What `config` points to must
 * stay until fleet_free(). NULL: out of memory. */
struct fleet *fleet_create(const struct fleet_config *config, const struct reading *readings,
                           size_t count);
void fleet_free(struct fleet *fleet); /* NULL is allowed */

const struct fleet_config *fleet_shape(const struct fleet *fleet);
int fleet_series_count(const struct fleet *fleet);
const struct series *fleet_series(const struct fleet *fleet, int series);

/* The number of a series. */
int fleet_find(const struct fleet *fleet, enum metric metric, int rail, enum direction direction);

/* The series in which the sender and the receiver of a reading stand. */
int fleet_from(const struct fleet *fleet, const struct reading *reading);
int fleet_to(const struct fleet *fleet, const struct reading *reading);

/* Are its numbers in range? */
bool fleet_has(const struct fleet *fleet, const struct reading *reading);

/* As the fleet takes it: a value that is no positive number is an error. */
enum reading_outcome reading_outcome(const struct reading *reading);

/* How much worse a value is than another: above 0 where it is worse. */
double worse_by(enum metric metric, double value, double than);

double fleet_excess(const struct fleet *fleet, const struct reading *reading);

/* The median of a metric on a rail, between hosts of one switch or of different ones; 0: they have
 * none of their own. */
double fleet_distance_median(const struct fleet *fleet, enum metric metric, int rail,
                             bool one_switch);

/* The value of an excess in a series: of a host, whose pairs are at all distances; and of a link. */
double fleet_value(const struct fleet *fleet, int series, double excess);
double fleet_link_value(const struct fleet *fleet, int series, int host, int peer, double excess);

/* The median of what hosts send, in the metric's unit; of several rails the median of theirs. */
double fleet_median(const struct fleet *fleet, enum metric metric);

/* A cell's level: NAN without readings, INFINITY where more than half of them failed. */
double fleet_level(const struct fleet *fleet, int series, int host);

/* How many readings a cell has. */
int fleet_readings(const struct fleet *fleet, int series, int host);

/* The largest excess of a cell's readings; NAN without readings. */
double fleet_worst(const struct fleet *fleet, int series, int host);

#endif
