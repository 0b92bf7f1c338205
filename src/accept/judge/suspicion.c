/*
 * suspicion.c - suspects, from the readings of pairs.
 */
#include "accept/judge/judge.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define PATIENCE_SLOW    2
#define PATIENCE_NOW     4 /* of a host that is slow now and then */
#define TRIES_SLOW       6
#define TRIES_NOW        10
#define PATIENCE_FAILURE 6
#define LINKS_LEAST      2 /* suspects, and */
#define LINKS_SHARE      4 /* one link in so many, to suspect the host */
#define PARTNERS_LEAST   2 /* with which a host fails */

/* Transfers from one host to another failed: of a failure but wrong data, in both directions. */
struct failing_pair {
    int from, to;
    int good; /* readings of the two hosts that have a value */
};

struct failures {
    struct failing_pair *pairs; /* sorted */
    size_t count;
    int (*degree)[DIRECTIONS]; /* [hosts] in how many of the pairs it is */
    int *good;                 /* [hosts] its readings that have a value */
    int (*fit)[DIRECTIONS];    /* [hosts] pairs that say the host is the reason: see fits_count() */
};

void suspect_witness(struct suspect *suspect, int partner, const struct reading *reading)
{
    if (suspect->witness_count < WITNESSES_MOST)
        suspect->witnesses[suspect->witness_count++] = (struct witness){
            .partner = partner, .outcome = reading_outcome(reading), .value = reading->value};
}

bool suspect_is_failing(const struct suspect *suspect)
{
    return suspect->outcome != READING_VALUE;
}

/* The suspect by slowness, or by failures, NULL if there is none. A latency is in either order. */
static struct suspect *suspicion_find(const struct suspicion *suspicion, int host, int peer,
                                      int series, bool failing)
{
    bool either = peer >= 0 && fleet_series(suspicion->fleet, series)->metric == METRIC_LATENCY;
    for (int end = 0; end <= (int)either; end++) {
        int from = end ? peer : host, to = end ? host : peer;
        for (int i = suspicion->first[from]; i >= 0; i = suspicion->items[i].next) {
            struct suspect *suspect = &suspicion->items[i];
            if (suspect->peer == to && suspect->series == series &&
                suspect_is_failing(suspect) == failing)
                return suspect;
        }
    }
    return NULL;
}

/* Has the host a suspect in a series that was not cleared? */
static bool is_covered(const struct suspicion *suspicion, int host, int series)
{
    for (int failing = 0; failing < 2; failing++) {
        const struct suspect *suspect = suspicion_find(suspicion, host, -1, series, failing);
        if (suspect && suspect->state != SUSPECT_CLEARED)
            return true;
    }
    return false;
}

bool suspicion_covers_host(const struct suspicion *suspicion, int host)
{
    for (int i = suspicion->first[host]; i >= 0; i = suspicion->items[i].next)
        if (suspicion->items[i].peer < 0 && suspicion->items[i].state != SUSPECT_CLEARED)
            return true;
    return false;
}

/* The suspect, a new one if need be; the outcome is READING_VALUE of one by slowness. */
static struct suspect *suspect_take(struct suspicion *suspicion, int host, int peer, int series,
                                    enum reading_outcome outcome)
{
    struct suspect *known = suspicion_find(suspicion, host, peer, series, outcome != READING_VALUE);
    if (known)
        return known;
    struct suspect *suspect = LIST_ADD(suspicion->items, suspicion->count);
    *suspect = (struct suspect){.host = host,
                                .peer = peer,
                                .series = series,
                                .limit = {.excess = INFINITY},
                                .outcome = outcome,
                                .patience = PATIENCE_SLOW,
                                .tries_most = TRIES_SLOW,
                                .next = suspicion->first[host]};
    suspicion->first[host] = suspicion->count - 1;
    return suspect;
}

static void take_slow(struct suspicion *suspicion, int host, int peer, int series,
                      struct excess_limit limit, double excess)
{
    struct suspect *suspect = suspect_take(suspicion, host, peer, series, READING_VALUE);
    suspicion->slow += !isfinite(suspect->limit.excess);
    if (limit.excess < suspect->limit.excess) {
        suspect->limit = limit;
        suspect->excess = excess;
    }
}

/* Only a further failure confirms it. */
static struct suspect *take_failing(struct suspicion *suspicion, int host, int peer, int series,
                                    const struct reading *reading)
{
    enum reading_outcome outcome = reading_outcome(reading);
    struct suspect *suspect = suspect_take(suspicion, host, peer, series, outcome);
    suspect->limit = (struct excess_limit){.excess = DBL_MAX, .yardstick = YARDSTICK_FAILURE};
    suspect->excess = INFINITY;
    suspect->patience = PATIENCE_FAILURE;
    if (outcome > suspect->outcome)
        suspect->outcome = outcome;
    if (suspect->state == SUSPECT_CLEARED) { /* it fails again */
        suspect->state = SUSPECT_OPEN;
        suspect->tries = suspect->hits = 0;
    }
    suspect_witness(suspect, reading->from == host ? reading->to : reading->from, reading);
    return suspect;
}

void suspicion_add_failure(struct suspicion *suspicion, const struct reading *reading)
{
    int from = fleet_from(suspicion->fleet, reading), to = fleet_to(suspicion->fleet, reading);
    take_failing(suspicion, reading->from, reading->to, from, reading);
    take_failing(suspicion, reading->from, -1, from, reading);
    take_failing(suspicion, reading->to, -1, to, reading);
}

static void levels_suspect(struct suspicion *suspicion)
{
    int hosts = fleet_shape(suspicion->fleet)->hosts;
    for (int s = 0; s < fleet_series_count(suspicion->fleet); s++)
        for (int h = 0; h < hosts; h++) {
            double level = fleet_level(suspicion->fleet, s, h);
            if (isfinite(level) && limits_exceeds(suspicion->limits, s, h))
                take_slow(suspicion, h, -1, s, limits_cell(suspicion->limits, s, h), level);
        }
}

/* Failures. */

static int compare_pairs(const void *a, const void *b)
{
    const struct failing_pair *left = a, *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->to > right->to) - (left->to < right->to);
}

static bool is_failure(const struct fleet *fleet, const struct reading *reading)
{
    return fleet_has(fleet, reading) && reading_outcome(reading) != READING_VALUE;
}

static void pairs_collect(struct failures *failures, const struct fleet *fleet,
                          const struct reading *readings, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!is_failure(fleet, r))
            continue;
        failures->pairs[found++] = (struct failing_pair){.from = r->from, .to = r->to};
        if (reading_outcome(r) != READING_WRONG || r->metric == METRIC_LATENCY)
            failures->pairs[found++] = (struct failing_pair){.from = r->to, .to = r->from};
    }
    qsort(failures->pairs, found, sizeof *failures->pairs, compare_pairs);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || compare_pairs(&failures->pairs[i], &failures->pairs[i - 1]) != 0)
            failures->pairs[failures->count++] = failures->pairs[i];
    for (size_t i = 0; i < failures->count; i++) {
        failures->degree[failures->pairs[i].from][DIRECTION_SEND]++;
        failures->degree[failures->pairs[i].to][DIRECTION_RECEIVE]++;
    }
}

static void good_count(struct failures *failures, const struct reading *reading)
{
    failures->good[reading->from]++;
    failures->good[reading->to]++;
    const struct failing_pair ways[] = {{.from = reading->from, .to = reading->to},
                                        {.from = reading->to, .to = reading->from}};
    for (int w = 0; w < 2; w++) {
        struct failing_pair *pair = bsearch(&ways[w], failures->pairs, failures->count,
                                            sizeof *failures->pairs, compare_pairs);
        if (pair)
            pair->good++;
    }
}

/* In how many pairs of each direction is the partner of a host good with another one, and in fewer
 * pairs than the host? */
static void fits_count(struct failures *failures)
{
    for (size_t i = 0; i < failures->count; i++) {
        const struct failing_pair *pair = &failures->pairs[i];
        int sender = failures->degree[pair->from][DIRECTION_SEND];
        int receiver = failures->degree[pair->to][DIRECTION_RECEIVE];
        if (failures->good[pair->to] > pair->good)
            failures->fit[pair->from][DIRECTION_SEND] += receiver < sender;
        if (failures->good[pair->from] > pair->good)
            failures->fit[pair->to][DIRECTION_RECEIVE] += sender < receiver;
    }
}

static void failures_collect(struct failures *failures, struct arena *memory,
                             const struct fleet *fleet, const struct reading *readings,
                             size_t count)
{
    size_t hosts = (size_t)fleet_shape(fleet)->hosts, found = 0;
    for (size_t i = 0; i < count; i++)
        found += is_failure(fleet, &readings[i]);
    failures->pairs = arena_new(memory, 2 * found, sizeof *failures->pairs);
    failures->degree = arena_new(memory, hosts, sizeof *failures->degree);
    failures->good = arena_new(memory, hosts, sizeof *failures->good);
    failures->fit = arena_new(memory, hosts, sizeof *failures->fit);
    pairs_collect(failures, fleet, readings, count);
    for (size_t i = 0; failures->count > 0 && i < count; i++)
        if (fleet_has(fleet, &readings[i]) && reading_outcome(&readings[i]) == READING_VALUE)
            good_count(failures, &readings[i]);
    fits_count(failures);
}

/* Does a failing transfer belong to its sender, or to its receiver? */
static bool is_blamed(const struct failures *failures, const struct reading *reading,
                      enum direction direction)
{
    int sender = failures->degree[reading->from][DIRECTION_SEND];
    int receiver = failures->degree[reading->to][DIRECTION_RECEIVE];
    int own = direction == DIRECTION_SEND ? sender : receiver;
    return own >= PARTNERS_LEAST && own >= (direction == DIRECTION_SEND ? receiver : sender);
}

/* Has a host failed, in one direction, with as many partners as it takes, each of which was good
 * with another host? Then it has been seen again already. */
static bool is_seen_again(const struct failures *failures, int host)
{
    const int *fit = failures->fit[host];
    return fit[DIRECTION_SEND] >= PARTNERS_LEAST || fit[DIRECTION_RECEIVE] >= PARTNERS_LEAST;
}

static void end_suspect(struct suspicion *suspicion, const struct failures *failures, int host,
                        int series, const struct reading *reading)
{
    struct suspect *suspect = take_failing(suspicion, host, -1, series, reading);
    if (suspect->state == SUSPECT_OPEN && is_seen_again(failures, host))
        suspect->state = SUSPECT_CONFIRMED;
}

static void failures_suspect(struct suspicion *suspicion, const struct reading *readings,
                             size_t count)
{
    const struct fleet *fleet = suspicion->fleet;
    struct arena *memory = arena_create();
    struct failures failures = {0};
    failures_collect(&failures, memory, fleet, readings, count);
    for (size_t i = 0; failures.count > 0 && i < count; i++) {
        const struct reading *r = &readings[i];
        if (!is_failure(fleet, r))
            continue;
        bool sender = is_blamed(&failures, r, DIRECTION_SEND);
        bool receiver = is_blamed(&failures, r, DIRECTION_RECEIVE);
        if (!sender && !receiver)
            suspicion_add_failure(suspicion, r);
        if (sender)
            end_suspect(suspicion, &failures, r->from, fleet_from(fleet, r), r);
        if (receiver)
            end_suspect(suspicion, &failures, r->to, fleet_to(fleet, r), r);
    }
    arena_free(memory);
}

/* Links. */

static void links_suspect(struct suspicion *suspicion, const struct reading *readings, size_t count)
{
    const struct fleet *fleet = suspicion->fleet;
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!fleet_has(fleet, r) || reading_outcome(r) != READING_VALUE)
            continue;
        int from = fleet_from(fleet, r), to = fleet_to(fleet, r);
        double excess = fleet_excess(fleet, r);
        struct excess_limit limit = limits_reading(suspicion->limits, r);
        if (excess > limit.excess && !is_covered(suspicion, r->from, from) &&
            !is_covered(suspicion, r->to, to))
            take_slow(suspicion, r->from, r->to, from, limit, excess);
    }
}

/* The series of a link's receiver. */
static int peer_series(const struct fleet *fleet, int series)
{
    const struct series *s = fleet_series(fleet, series);
    return fleet_find(fleet, s->metric, s->rail,
                      s->metric == METRIC_LATENCY ? DIRECTION_SEND : DIRECTION_RECEIVE);
}

/* A host with slow links is a suspect, although its level is good. */
static void often_slow_take(struct suspicion *suspicion, int host, int series,
                            const struct suspect *link)
{
    if (suspicion_find(suspicion, host, -1, series, false))
        return;
    take_slow(suspicion, host, -1, series, link->limit, link->excess);
    struct suspect *suspect = suspicion_find(suspicion, host, -1, series, false);
    suspect->patience = PATIENCE_NOW;
    suspect->tries_most = TRIES_NOW;
}

/* Hosts in which several suspected links meet. `links` and `readings_of`: of each cell. */
static void meetings_suspect(struct suspicion *suspicion, const int *links, const int *readings_of)
{
    const struct fleet *fleet = suspicion->fleet;
    int hosts = fleet_shape(fleet)->hosts;
    for (int i = 0, count = suspicion->count; i < count; i++) {
        struct suspect link = suspicion->items[i];
        if (link.peer < 0 || link.outcome != READING_VALUE)
            continue;
        for (int end = 0; end < 2; end++) {
            int host = end ? link.peer : link.host;
            int series = end ? peer_series(fleet, link.series) : link.series;
            int cell = series * hosts + host;
            if (links[cell] < LINKS_LEAST || links[cell] * LINKS_SHARE < readings_of[cell])
                continue;
            often_slow_take(suspicion, host, series, &link);
        }
    }
}

static void often_slow_suspect(struct suspicion *suspicion, const struct reading *readings,
                               size_t count)
{
    const struct fleet *fleet = suspicion->fleet;
    int hosts = fleet_shape(fleet)->hosts;
    size_t cells = (size_t)fleet_series_count(fleet) * (size_t)hosts;
    int *links = new_array(cells, sizeof *links),
        *readings_of = new_array(cells, sizeof *readings_of);
    for (size_t i = 0; i < count; i++)
        if (fleet_has(fleet, &readings[i])) {
            readings_of[fleet_from(fleet, &readings[i]) * hosts + readings[i].from]++;
            readings_of[fleet_to(fleet, &readings[i]) * hosts + readings[i].to]++;
        }
    for (int i = 0; i < suspicion->count; i++) {
        const struct suspect *link = &suspicion->items[i];
        if (link->peer < 0 || link->outcome != READING_VALUE)
            continue;
        links[link->series * hosts + link->host]++;
        links[peer_series(fleet, link->series) * hosts + link->peer]++;
    }
    meetings_suspect(suspicion, links, readings_of);
    free(links);
    free(readings_of);
}

struct suspicion *suspicion_create(const struct fleet *fleet, const struct limits *limits,
                                   const struct reading *readings, size_t count)
{
    struct suspicion *suspicion = new_array(1, sizeof *suspicion);
    int hosts = fleet_shape(fleet)->hosts;
    *suspicion = (struct suspicion){
        .fleet = fleet, .limits = limits, .first = new_array((size_t)hosts, sizeof(int))};
    for (int h = 0; h < hosts; h++)
        suspicion->first[h] = -1;
    levels_suspect(suspicion);
    failures_suspect(suspicion, readings, count);
    links_suspect(suspicion, readings, count);
    often_slow_suspect(suspicion, readings, count);
    return suspicion;
}

void suspicion_free(struct suspicion *suspicion)
{
    if (!suspicion)
        return;
    free(suspicion->items);
    free(suspicion->first);
    free(suspicion);
}
