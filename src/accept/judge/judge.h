/*
 * judge.h - which hosts, NICs and links are faulty, from measurements alone: no clock, no device,
 * no output.
 */
#ifndef CCTEST_ACCEPT_JUDGE_JUDGE_H
#define CCTEST_ACCEPT_JUDGE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/stats/stats.h"
#include "base/status.h"
#include "base/text.h"
#include "host/facts/facts.h"
#include "host/host.h"

/* ---- Measurements ---- */

enum metric {
    METRIC_LATENCY,       /* us, of a short message; the same in both directions */
    METRIC_ALONE,         /* GB/s from one host to the other, which sends nothing meanwhile */
    METRIC_BOTH,          /* GB/s from one to the other, which sends as fast as it can meanwhile */
    METRIC_LOSS,          /* %, of the packets from one to the other that are sent again */
    METRICS,              /* of pairs, which fleet_create() takes */
    METRIC_OWN = METRICS, /* a number of one host: `number` says which */
};

const char *metric_unit(enum metric metric);

#define LOSS_START 0.1 /* %, of METRIC_LOSS: 5 of the 5,000 packets of a short measurement */

/* In order of severity. */
enum reading_outcome {
    READING_VALUE,
    READING_ERROR, /* the job failed, and its hosts are there */
    READING_LATE,  /* it did not end in its time */
    READING_LOST,  /* a worker died, or was not heard of any more */
    READING_WRONG, /* it ended, with wrong data */
};

/* A host's part in a transfer. */
enum direction {
    DIRECTION_SEND,
    DIRECTION_RECEIVE,
    DIRECTIONS,
    DIRECTION_ANY = DIRECTIONS, /* both */
};

/* A measurement. Hosts and rails are numbers from 0. A job that fails has one reading, that of
 * the metric which failed. */
struct reading {
    int from, to, rail; /* METRIC_OWN: of the host `from` */
    enum metric metric;
    enum reading_outcome outcome;
    double value;   /* above 0, a loss at least 0; of READING_VALUE only */
    double packets; /* METRIC_LOSS: that were sent; 0: not known */
    /* In the list of an acceptance run alone: */
    int stage;                        /* enum accept_stage */
    const struct host_number *number; /* METRIC_OWN */
    const char *part;                 /* METRIC_OWN: the one with this value; "" */
};

struct host_pair {
    int a, b;
};

/* As a fleet takes it: a value that is no positive number is an error. */
enum reading_outcome reading_outcome(const struct reading *reading);

/* ---- Excess: how much worse a value is than a reference, as a natural logarithm,
 *
 *     ln(reference / value) of a bandwidth,   ln(value / reference) of a latency,
 *     ln((value + 0.1%) / (reference + 0.1%)) of a loss
 *
 * so 0.1 is about 10% worse, a series with noise in proportion has the same spread at every speed,
 * and worse is larger in all. Losses may be 0, and a few packets more or less are noise: they have
 * a start (Tukey, "Exploratory Data Analysis", 1977: started logarithms).
 * ---- */

/* ---- Error rates.
 *
 * Noise makes a run on a healthy fleet blame somebody in a share of FALSE_ALARMS at most, or that
 * of --false-alarms. Judgements share it (Bonferroni's inequality) as `alarms`, and divide it among
 * all that they judge. Each rotation of a soak has it anew.
 * ---- */

#define FALSE_ALARMS   0.01
#define ALARMS_PAIRS   0.4 /* of suspects of pairs, which are the most, */
#define ALARMS_AGAIN   0.1 /* and of those of `all`; */
#define ALARMS_LOOKS   0.1 /* of the numbers of hosts by themselves, in self and in node each; */
#define ALARMS_GAPS    0.1 /* of standstills */
#define ALARMS_DOUBLES 0.05
#define ALARMS_DRIFT   0.05

/* ---- A fleet as its pairs showed it: how good each host is in each series.
 *
 * A series is a metric on a rail in a direction. A cell is a host in a series; its readings are
 * those of all its partners. The reference of their excess is the median of all readings of the
 * metric and rail. A reading that failed has an infinite excess.
 *
 * Where switches are known, pairs of one switch and pairs of different ones have a reference each,
 * since distance is no fault. Of random pairs of n hosts, m behind each switch, a share of (m - 1)
 * / (n - 1) is of one switch, which is enough for a median of the fleet (64 hosts, 16 behind each
 * switch: 53 pairs of 224). Latencies always have both references. Bandwidths have them where both
 * kinds have at least 8 readings, and no host a part in more than half of those of one kind: a host
 * alone on its switch would be compared with itself. Distances beyond that, as in a network of
 * several levels, are one kind.
 *
 * A cell's level is the lower median of its readings: the value in the middle, or the better of
 * two. A disturbed reading does not move it as long as as many were good.
 *
 * A bandwidth is as bad as the worse of its two ends, so a slow partner hides what a host can do. A
 * cell (of no latency) is slow if its level lies farther above those of the better half of its
 * series than SLOW_LEAST, and than these lie apart (after Rousseeuw, "Least median of squares
 * regression", JASA 1984, whose half is the one that lies together). Fewer than SLOW_HOSTS hosts
 * need SLOW_READINGS each. Readings with a slow partner are left out, and so are those of slow
 * hosts from references and spreads; levels and slow cells are found again until no cell changes
 * (Tukey, "Exploratory Data Analysis", 1977: two-way medians). So up to half of the hosts may be
 * slow. The fleet is the median of the levels, not of the readings.
 * ---- */

struct fleet_config {
    int hosts, rails;    /* at least 1; rails at most RAILS_MOST */
    const int *switches; /* of each host, from 0, below hosts; -1: not known, of this one; NULL */
    bool inferred;       /* they are two parts that pairs showed */
};

struct series {
    enum metric metric;
    int rail;
    enum direction direction; /* of the host; a latency is in DIRECTION_SEND for both hosts */
    double reference;         /* the value whose excess is 0; 0 without values */
    struct spread levels;     /* of the hosts whose level is finite: excess */
    double noise;             /* of a level, from that of its readings; not above the deviation */
};

enum distance {
    DISTANCE_NEAR, /* behind one switch */
    DISTANCE_FAR,  /* behind different ones, or it is not known */
    DISTANCE_KINDS
};

/* A metric on a rail. */
struct fleet_class {
    double reference[DISTANCE_KINDS];
    bool apart; /* each distance has a reference of its own */
};

struct fleet {
    struct fleet_config config;
    int series_count;
    struct series *series;
    /* For fleet.c alone: */
    struct arena *memory; /* of all that follows, and of the series */
    int cell_count;
    struct fleet_class *classes; /* [metric * rails + rail] */
    struct bins cells;           /* [series * hosts + host] */
    double *level;               /* of each cell, */
    double *best;                /* the least excess of all its readings; NAN without any, */
    bool *slow;                  /* whether it is slow, */
    int *partners;               /* and its readings with partners that are not */
    double *scratch;             /* as many as the cells have numbers */
};

/* Learns a fleet from its readings, and keeps neither them nor what `config` points to. Readings
 * with numbers out of range are left out. */
struct fleet *fleet_create(const struct fleet_config *config, const struct reading *readings,
                           size_t count);
void fleet_free(struct fleet *fleet); /* NULL is allowed */

/* The median of a metric on a rail, between hosts at a distance; 0: they have none of their own. */
double fleet_distance_median(const struct fleet *fleet, enum metric metric, int rail,
                             enum distance distance);

/* The value of an excess in a series, of a host, whose pairs are at all distances. */
double fleet_value(const struct fleet *fleet, int series, double excess);

/* Has any host a level in the metric? */
bool fleet_knows(const struct fleet *fleet, enum metric metric);

/* The median of what hosts send, in the metric's unit; of several rails the median of theirs. */
double fleet_median(const struct fleet *fleet, enum metric metric);

/* A cell's level: NAN without readings, INFINITY where more than half of them failed. */
double fleet_level(const struct fleet *fleet, int series, int host);

/* ---- From where on a host or a link of a fleet is a suspect.
 *
 * A cell's limit is the strictest of several, and so is a single reading's, which is wider, since
 * a level is steadier than a reading. By the fleet, a level is beyond the limit if its excess is
 * above
 *
 *     median + max(factor * deviation, floor)
 *
 * with the median and the deviation of the levels of its series, and the factor of spread_factor()
 * for all cells together. A single reading likewise, with the deviation of the readings of hosts
 * within their limits. A suspect costs no more than a measurement again, which confirms or clears
 * it, so each factor allows for some false alarms: one cell in a run, and as many pairs as fit
 * into one round. The floor keeps a difference of 1% between equal hosts from being a fault.
 * ---- */

/* The reference that a value is compared with. */
enum reference {
    REFERENCE_FLEET,   /* the median, and so many deviations */
    REFERENCE_RATE,    /* the rate of the link: RATE_LEAST of it, where the fleet has RATE_FLEET */
    REFERENCE_EARLIER, /* an earlier run, after what changed for the whole fleet */
    REFERENCE_PROFILE, /* what a file asks for */
    REFERENCE_FAILURE, /* a pair failed */
    REFERENCE_RAILS,   /* the other rails of the fleet */
    REFERENCES,
};
extern const char *const threshold_words[REFERENCES]; /* "threshold by the profile" */

#define RATE_LEAST 0.7
#define RATE_FLEET 0.9

/* A number beside the fleet's, in the metric's unit. */
struct reason {
    enum metric metric;
    enum reference reference;
    double value, median, deviation, threshold;
};

struct references {
    double floor[METRICS]; /* what is worse by less than this share is never a suspect */
    double latency_floor;  /* us, likewise */
    double earlier_floor;  /* the share that a host may lose since the earlier run */
    const double *rates;   /* GB/s of each rail's link in one direction, 0: not known; NULL */
    double asked[METRICS]; /* the profile: at most so many us, at least GB/s; 0: nothing */
    const struct reading *earlier; /* of a run of hosts with the same numbers; NULL */
    size_t earlier_count;
    double alarms; /* of suspects */
};

/* Floors of 5% for bandwidths, of 15% and 0.5 us for latencies and of 0.1% of all packets for
 * losses, 10% since an earlier run; no reference but the fleet; FALSE_ALARMS. */
struct references references_default(void);

/* A reference that the fleet itself misses: no host is suspected then. */
struct fleet_note {
    enum reference reference;
    int series;
    double value, threshold; /* the fleet's median, and what it should be; in the metric's unit */
};

struct excess_limit {
    double excess;
    enum reference reference;
};

struct limits {
    struct arena *memory; /* of all that follows */
    const struct fleet *fleet;
    struct references references;
    int hosts;
    struct excess_limit *cell;      /* [series * hosts + host] */
    struct series_limit *series;    /* of each */
    double factor, reading_factor;  /* spread_factor() of levels and of readings */
    double packets;                 /* of a reading of losses, their median; 0: none */
    struct healthy_readings *noise; /* [2]; [1]: of latencies, with a noise of their own */
    double *scratch;                /* as many as hosts, rails and readings */
    struct fleet_note *notes;
    int note_count;
    struct fleet *earlier;
    struct reading *earlier_readings; /* sorted by compare_readings() */
};

/* The least faults of hosts and of links that a fleet's own limits tell, of the rail and direction
 * in which the most is missed: shares of a bandwidth, us of a latency, % of the packets. INFINITY:
 * not measured. A reading tells of LOST_LEAST lost packets and more (accept/pairs_stage.c). A rate
 * of LOST_SURE / n gives fewer of n packets in one of 20 readings (Poisson's distribution). */
#define LOST_LEAST 2
#define LOST_SURE  4.7

struct sensitivity {
    double host[METRICS], link[METRICS];
};

struct sensitivity limits_sensitivity(const struct limits *limits);

/* ---- Which hosts stand out in a number that each host has of itself: its memory's bandwidth, a
 * core's speed, an allreduce inside it.
 *
 * A value is compared as excess with the median and deviation of all hosts. It is an outlier beyond
 *
 *     max(spread_factor(judged, alarms) * deviation, floor)
 *
 * in one measurement, or beyond what a profile or an earlier run asks. Fewer than HOSTS_COMPARED
 * are compared with those alone.
 * ---- */

struct value_rule {
    bool less_is_better;
    double floor;          /* a share: what is worse by less is no outlier */
    double asked;          /* by the profile: at least, or at most; 0: nothing */
    const double *earlier; /* of each host, 0: none; NULL: of none */
    double earlier_floor;  /* the share that a host may lose beside the fleet's change */
    double judged;         /* values of all metrics that are judged in a run: hosts * metrics */
    double alarms;         /* of all of them */
};

struct judged_value {
    double value; /* one that is no positive number is not judged */
    bool outlier;
    struct reason reason; /* that says whether it is one */
};

/* Judges a value of each host. */
void host_values_judge(const struct value_rule *rule, struct judged_value *values, int hosts);

/* The limit of the time that a host stands still, in all:
 *
 *     median + max(least, median, spread_factor(judged, alarms) * deviation)
 *
 * of all hosts; of 2 and 3 with the least of them for the median, of one with 0. The whole machine
 * may stand still, so a time that all hosts have is no fault of one. Reorders `seconds`, and
 * replaces them. */
struct reason gaps_limit(double *seconds, size_t hosts, double least, double judged, double alarms);

/* ---- Hosts over the rotations of a soak: which become worse, and which are worse now and then.
 *
 * A value is compared as excess with the median of its rotation's hosts, so what all of them meet
 * is no host's; of fewer than HOSTS_COMPARED hosts, with nothing. Then with the median of its own
 * host, so how hosts differ is no drift.
 *
 * A host drifts if its excess rises by the test of Mann and Kendall (base/stats/stats.h has the
 * source), so surely that no more than `alarms` runs have a false alarm, and from the
 * first third of its rotations to the last by more than the floor. About 12 rotations are the
 * fewest that can tell it.
 *
 * A dip is an excess beyond max(spread_factor(values, 1) * deviation, floor). A host dips often if
 * chance, at the share of the other hosts' dips, gives so many to a host in `alarms` runs.
 * ---- */

/* A number of each host, in each rotation. */
struct drift_series {
    bool less_is_better;
    double judged; /* hosts, times the series that a run judges */
    double alarms;
    int rotations, hosts;
    const double *values; /* [rotation * hosts + host]; 0: not measured */
};

struct drift {
    int measured;       /* rotations */
    double first, last; /* the medians of its first and its last third */
    double worse;       /* from one to the other, beside the fleet: a share; below 0: better */
    bool drifts;
    int dips, worst;   /* the rotation of the deepest, from 0 */
    double dips_share; /* of the other hosts' rotations, that are dips */
    bool dips_often;   /* and does not drift */
};

void drifts_find(const struct drift_series *series, struct drift *drifts); /* of each host */

/* Puts what is said of a host that drifts, or else dips often: "copy by all cores goes from 10.0
 * to 7.50 GB/s over 24 rotations: 25% worse beside the fleet". */
void drift_put(const struct drift_series *series, const char *name, const char *unit, int host,
               const struct drift *drift, struct text *text);

/* ---- Which hosts meet in which round: rounds of disjoint pairs, so that a whole fleet is
 * measured at the same time and no host has two partners at once.
 *
 * The circle method (Kirkman, "On a Problem in Combinations", 1847) arranges n hosts, n even, into
 * n - 1 rounds in which each host meets each other once: host n - 1 stays, the others turn. In
 * round r the hosts i and j meet where i + j = r modulo n - 1, and the last host meets the one
 * with 2 * i = r. With n odd a host is missing, and its partner sits out: each host does so once.
 *
 *     n = 6   round 0: 5-0 1-4 2-3   round 1: 5-3 0-1 4-2   round 2: 5-1 0-2 3-4  ...
 *
 * A part of the rounds, of hosts whose places on the circle were shuffled, is a set of random
 * matchings in which no pair meets twice.
 * ---- */

struct rounds; /* a plan */

/* How many rounds there are of all pairs: 0 for one host. */
int rounds_all(int hosts);

/* So many rounds that each host meets log2(hosts) others, and at least 7, or all others of a small
 * fleet, so often that it has 6 readings: fewer than 5 hosts have their spread from repetition.
 * log2(hosts) rounds of random matchings join all hosts by short paths. The median of 7 readings
 * stands up to 3 that are disturbed or have a faulty partner; with 3 partners, a fault that shows
 * now and then is often not seen (make fleets). One more where a host sits out. */
int rounds_enough(int hosts);

/* A plan of `count` rounds of hosts from 0, hosts > 0: behind rounds_all(hosts) it begins again.
 * The same seed makes the same plan. */
struct rounds *rounds_plan(int hosts, int count, uint64_t seed);
void rounds_free(struct rounds *rounds); /* NULL is allowed */

/* The pairs of a round, counted from 0, among the hosts that are present; returns how many. Hosts
 * whose partners are absent meet each other instead, unless the plan has that pair in some round.
 * `pairs` has room for hosts / 2. */
int rounds_pairs(const struct rounds *rounds, int round, const bool *present,
                 struct host_pair *pairs);

/* ---- Suspects, which are measured again: hosts in a series, and links from one host to another
 * in a series.
 *
 * A cell is a suspect if its level is beyond its limit. A link is one if its reading is beyond its
 * limit, and neither end is a suspect there, which would explain it. Where a quarter of a cell's
 * links are suspects, and two at least, the cell is one too: a host that is slow now and then has a
 * good level. What fails may be slow as well: these are two suspects, each with its own evidence.
 *
 * Noise does not make a pair fail, so one failure is enough. With two partners or more, it is the
 * host's that has failures with the most; else it may be either host's or the link's, and all three
 * are suspects.
 * ---- */

#define PARTNERS_MOST 6 /* the first are kept */

enum suspect_state {
    SUSPECT_OPEN,
    SUSPECT_CONFIRMED, /* it was seen again, with good partners */
    SUSPECT_CLEARED,   /* it was not */
};

/* Suspects of one complaint are merged. */
enum complaint {
    COMPLAINT_FAILURE,
    COMPLAINT_LOSS,
    COMPLAINT_BANDWIDTH,
    COMPLAINT_LATENCY,
    COMPLAINTS
};

struct suspect {
    int host, peer; /* the link from host to peer; peer -1: the host itself */
    int series;     /* of the host; of a link, that of its sender */
    enum suspect_state state;
    struct excess_limit limit;    /* what a reading must exceed to confirm */
    double excess;                /* as the pairs showed it: the level, or the reading */
    enum reading_outcome outcome; /* the worst; READING_VALUE: slow */
    int patience;                 /* so many good readings clear it, if there is no bad one */
    int tries_most;               /* so many readings clear it, if they do not confirm it */
    int tries, hits;              /* readings since, and those beyond the limit */
    double by_chance;             /* slow suspects that noise is expected to show so often */
    int values;                   /* tries that did not fail, */
    double sum;                   /* and the sum of their values; of bandwidths: of 1 / value */
    int partner_count;
    int partners[PARTNERS_MOST]; /* partners with which a reading showed it */
    int alone;                   /* a link: its readings while no other pair was measured, */
    double alone_sum;            /* and their sum, as in `sum` */
    bool met_alone;              /* it was slow then, too, or was not measured */
    bool counted;                /* in lone_count */
    bool ends_met[2];            /* its host, and its peer, met others after it was confirmed */
    int number;                  /* of suspects before it */
    struct suspect *next;        /* in the order in which they were found */
    struct suspect *sibling;     /* the host's next one; of a link: its sender's */
};

/* ---- Measures suspects again until each is confirmed or cleared.
 *
 * A suspected host meets a host that was only ever good, another one in each round. It meets one
 * of which a link was a suspect before it meets one again that it was slow with. A suspected link
 * is measured again. All suspects are measured at once where their pairs are disjoint, so the
 * number of rounds depends on how often a suspect must be seen, and not on the size of the fleet.
 * Of the links between different switches, each switch has one at a time, so that what many share
 * at once is not taken for a fault of one of them. Of partners that are as good, one behind the
 * same switch comes first, and across two parts that pairs showed one pair meets at a time.
 *
 * Switches may not be known. So the first 8 links that are confirmed to be slow are measured once
 * more while no other pair is: one that is not slow then is cleared (by the mean of 3 measurements
 * if it was slow now and then), and if most of them are, so are the others. A host may become
 * faulty meanwhile, and its next partner seems to have a slow link to it. So the ends of a link
 * that is still confirmed meet others at last, and an end that is slow with these becomes a
 * suspect.
 *
 * What made a suspect is no evidence, since the worst of many healthy readings look faulty.
 * Evidence is what is measured afterwards. Let q be the share of healthy readings beyond such a
 * limit (limits_share()), and M the number of suspects. A suspect of which h of n readings were
 * beyond the limit is confirmed when h >= 2 and
 *
 *     M * P(at least h of n, each with q) <= alarms / N
 *
 * (the binomial tail, and Bonferroni's inequality over M suspects, each judged up to N times). The
 * bandwidth of a link must be beyond its limit by the mean of the n readings, too: where the cores
 * of both ends are busy, more than the share q of its readings are beyond it by a little. A suspect
 * is cleared when 2 readings are good and none is bad, or when N = 6 were not enough; a host that
 * seems slow now and then, and losses, when 4 are good or N = 10 were not enough. A failure needs
 * one more failure, with another partner that is good elsewhere, and 6 good readings clear it. So a
 * suspect takes 2 or 3 rounds, rarely more.
 * ---- */

struct isolated_host {
    struct suspect *suspects; /* the last first */
    bool *met;                /* of a suspect: the hosts that it has met; else NULL */
    int asked;                /* in how many rounds it was for its own sake */
    /* In this round: */
    bool busy;
    bool is_end; /* of a confirmed link: it meets another host */
    int links;   /* suspected links that it is the receiver of */
};

struct isolation {
    struct arena *memory; /* of all that follows */
    const struct fleet *fleet;
    struct limits *limits;
    struct suspect *suspects, **end; /* in the order in which they were found */
    int count;
    int slow; /* suspects by slowness */
    struct isolated_host *hosts;
    bool *crossed; /* of each switch, in this round: a pair with another switch is measured */
    int *order;    /* hosts, shuffled: which is asked to be a partner */
    int at;        /* in the order */
    int round;
    const bool *present;     /* the hosts, and */
    struct host_pair *pairs; /* the pairs of the round: the caller's */
    int pair_count;
    struct suspect *lone;         /* the link that is measured alone in the round; NULL: none is */
    int lone_count, lone_cleared; /* so many were, and were cleared by it */
    bool is_done; /* isolation_pairs() found none; else suspects may be open that were not tried */
};

/* From the readings that the fleet was made from. The fleet and what the references point to must
 * stay until isolation_free(). The same seed makes the same rounds. */
struct isolation *isolation_create(const struct fleet *fleet, const struct references *references,
                                   const struct reading *readings, size_t count, uint64_t seed);
void isolation_free(struct isolation *isolation); /* NULL is allowed */

/* The pairs of the next round, among the hosts that are present: all metrics and directions of
 * each are to be measured on *rails (1 << rail), those of suspects that are open. Returns how
 * many, 0: it is done. Suspects that are still open then have no partner that is good. `pairs`
 * has room for hosts / 2. */
int isolation_pairs(struct isolation *isolation, const bool *present, struct host_pair *pairs,
                    uint64_t *rails);

/* Takes the readings of a round. A failure of a pair that is no suspect makes new suspects. */
void isolation_add(struct isolation *isolation, const struct reading *readings, size_t count);

/* ---- Faults: suspects, each pinned to the least place that explains it, and the health of hosts.
 *
 * Suspects of one host become one fault. Its place is a direction if the other direction is
 * good, a NIC (the host on a rail) if the other rails are good, and else the host. Good is what
 * lies nearer to the fleet than to the fault: its excess is at most half of the fault's, and
 * at most half of its own limit. Where a bandwidth is slow alone, what is measured in both
 * directions at once is slow too and says no more; where only that is slow, and both ways, the
 * fault is one of both directions at once. Failures but wrong data have no direction, since
 * both ends of a job fail. Lost packets make a host or a link slow, so they are told alone; and a
 * slow host makes its links slow, be it by its latency, as far as it is slow itself. Losses of few
 * packets come by chance: a link that loses them in one direction for sure does so in the other,
 * too, if the mean there of what made it a suspect and what was measured again is nearer to that
 * than to the fleet.
 * ---- */

/* In order of severity. A failure is as severe as its outcome: wrong data outranks a loss. */
enum fleet_fault_kind {
    FLEET_FAULT_LATENCY,
    FLEET_FAULT_DUPLEX, /* slow where both directions are in use, and not where one is */
    FLEET_FAULT_SLOW,
    FLEET_FAULT_LOSS,
    FLEET_FAULT_FAILURE,
};

enum fleet_fault_place {
    PLACE_HOST,
    PLACE_LINK,   /* between two hosts that are good with others */
    PLACE_EITHER, /* two hosts or the link between them: this cannot be told apart */
};

struct fleet_fault {
    enum fleet_fault_kind kind;
    enum fleet_fault_place place;
    int host, peer;           /* peer -1: PLACE_HOST */
    int rail;                 /* -1: all */
    enum direction direction; /* of the host */
    struct reason reason;     /* the worst; its value is 0 of a failure */
    bool confirmed;   /* seen again; a failure that was not, and what could not be tried, is none */
    bool ended_early; /* isolation ended before it was tried again, or often enough */
    double by_chance; /* of its suspects, the least */
    const struct suspect *worst; /* of its suspects: has its outcome, tries and partners */
};

/* bad: a fault of the host is confirmed. suspect: one is not confirmed, or is the link's, which
 * has two ends, or either host's. Slowness that was seen once, and not again, leaves a host good.
 *
 * In order of severity. HEALTH_UNKNOWN: the host could not be judged. */
enum health { HEALTH_GOOD, HEALTH_UNKNOWN, HEALTH_SUSPECT, HEALTH_BAD };

struct fleet_faults {
    struct fleet_fault *items; /* the worst first, then by host */
    int count;
    int passing; /* suspects of slowness that were cleared: disturbed measurements */
    int untried; /* links whose readings were slow, but were not measured again */
};

/* All that isolation has found so far; isolation must stay until fleet_faults_free(). */
struct fleet_faults *fleet_faults_find(const struct isolation *isolation);
void fleet_faults_free(struct fleet_faults *faults); /* NULL is allowed */

/* The health of the hosts of its place. If time ended before slowness was tried again, or while it
 * was seen no oftener than noise shows one of all suspects, it is noise as likely as not. A failure
 * is none. */
enum health fleet_fault_health(const struct fleet_fault *fault);

/* ---- Sentences ---- */

/* Names of all hosts, and of all rails; rails NULL: they have none, and are told by number. */
struct fleet_names {
    const char *const *hosts, *const *rails;
};

/* Adds one sentence:
 *
 *     n17: sends at 3.1 GB/s, the fleet's median is 11.8 (spread 0.2, threshold 10.9): confirmed
 *         with n02 and n31
 *     n17: mlx5_2 receives wrong data: confirmed with n02, n31, n40 and others
 *     link n3-n9 on mlx5_2: n3 sends to n9 at 3.1 GB/s, the fleet's median is ...: confirmed
 *         in 3 of 3 measurements
 *     n3, n9 or the link between them: a worker was lost: not seen again in 6 measurements */
void fleet_fault_put(const struct fleet_fault *fault, const struct fleet_names *names,
                     struct text *text);

/* Adds the name of a series: "bandwidth one way of mlx5_2 (sent)", "latency". */
void series_name_put(const struct fleet *fleet, int series, const struct fleet_names *names,
                     struct text *text);

/* Adds what the fleet misses: "all hosts: the median of what they send alone is 5 GB/s, ..." */
void fleet_note_put(const struct fleet_note *note, const struct fleet *fleet,
                    const struct fleet_names *names, struct text *text);

/* A clause on what a fleet of so few hosts cannot tell; NULL from 4 hosts on. */
const char *fleet_size_remark(int hosts);

/* ---- Facts that hosts are expected to have, as lines of text:
 *
 *     # our nodes
 *     nic.count = 8
 *     nic.rate >= 400 Gb/s
 *     memory.bytes >= 1.9T
 *     os = Debian GNU/Linux 12 (bookworm)
 *
 * The reader of a line knows no keys, so that other keys of a profile can be read with it, too.
 * ---- */

enum profile_operator {
    PROFILE_EQUAL,
    PROFILE_NOT_EQUAL,
    PROFILE_LEAST,
    PROFILE_MOST,
    PROFILE_OPERATORS
};
extern const char *const profile_operator_names[PROFILE_OPERATORS]; /* "=", "!=", ">=", "<=" */

struct profile_line {
    const char *file; /* for sentences; it must stay */
    int number;       /* from 1 */
    char key[64];     /* "": the line is empty, or a comment */
    enum profile_operator operator;
    char value[VALUE_TEXT_MOST]; /* "400 Gb/s" */
};

/* `text`: without its newline. STATUS_USAGE: it has no key, operator or value, after fail(). */
enum status profile_line_read(const char *text, const char *file, int number,
                              struct profile_line *line);

/* The number of a line's value, in `unit`: sizes as base/parse.h reads them; a unit may be left out
 * where the sentence below names none. STATUS_USAGE, after fail(): "nodes.profile:3: nic.rate is
 * given in Gb/s, not as '400 MB'". VALUE_TEXT has no number. */
enum status profile_number(const struct profile_line *line, enum value_unit unit, double *number);

struct expected_fact {
    struct profile_line line;
    const struct fact_rule *rule;
    double number; /* unless the rule's unit is VALUE_TEXT */
};

/* STATUS_USAGE, after fail(): unknown key, wrong unit, or an operator that texts do not have. */
enum status expected_fact_read(const struct profile_line *line, struct expected_fact *expectation);

/* ---- In what hosts differ from the majority, and fall short of what their own parts could do.
 *
 * A majority is more than half of the hosts that have a fact, and at least two. Numbers agree
 * within their rule's tolerance. Where there is no majority, none is blamed.
 * ---- */

#define FINDING_TEXT_MOST 512

/* A host of a call, which findings name by its index. */
struct inventory_host {
    const char *name;
    const struct inventory *inventory; /* NULL: the host is lost, and is not compared */
};

struct inventory_finding {
    enum severity severity;
    int host;                          /* -1: no host is to blame */
    const struct inventory_fact *fact; /* that it is about; NULL: there is none */
    char text[FINDING_TEXT_MOST];      /* "n17: mlx5_2 runs at 200 Gb/s; 63 of 64 hosts have 400" */
};

/* By host, those of no host first; the worst first. */
struct inventory_findings {
    struct inventory_finding *items;
    int count;
};

/* Begins with *findings empty. The inventories must stay. */
void inventory_compare(const struct inventory_host *hosts, int count,
                       struct inventory_findings *findings);

/* Appends what each host has that the expectations forbid. */
void inventory_expect(const struct inventory_host *hosts, int count,
                      const struct expected_fact *expectations, int expected,
                      struct inventory_findings *findings);

void inventory_findings_free(struct inventory_findings *findings);

/* Puts a line of a profile for each fact that is compared and that all hosts have: KEY = VALUE
 * where all are alike, KEY >= VALUE, the least, where more is better. Nothing is asked where they
 * have none, or a module is not loaded. Each of these hosts meets each line, with the tolerance
 * of its rule. False: `out` cannot be written. */
bool inventory_typical_put(const struct inventory_host *hosts, int count, FILE *out);

#endif
