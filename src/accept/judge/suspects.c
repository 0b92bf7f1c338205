/*
 * suspects.c - suspects, from the readings of pairs.
 */
#include "accept/judge/internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

#define PATIENCE_SLOW    2
#define TRIES_SLOW       6
#define TRIES_NOW        10
#define PATIENCE_FAILURE 6
#define LINKS_LEAST      2 /* suspects, and */
#define LINKS_SHARE      4 /* one link in so many, to suspect the host */
#define PARTNERS_LEAST   2 /* with which a host fails */

bool suspect_is_failing(const struct suspect *suspect)
{
    return suspect->outcome != READING_VALUE;
}

enum complaint suspect_complaint(const struct isolation *isolation, const struct suspect *suspect)
{
    enum metric metric = isolation->fleet->series[suspect->series].metric;
    return suspect_is_failing(suspect) ? COMPLAINT_FAILURE
           : metric == METRIC_LOSS     ? COMPLAINT_LOSS
           : metric == METRIC_LATENCY  ? COMPLAINT_LATENCY
                                       : COMPLAINT_BANDWIDTH;
}

struct suspect *suspect_find(const struct isolation *isolation, int host, int peer, int series,
                             bool failing)
{
    bool either = peer >= 0 && isolation->fleet->series[series].metric == METRIC_LATENCY;
    for (int end = 0; end <= (int)either; end++)
        for (struct suspect *s = isolation->hosts[end ? peer : host].suspects; s; s = s->sibling)
            if (s->peer == (end ? host : peer) && s->series == series &&
                suspect_is_failing(s) == failing)
                return s;
    return NULL;
}

double suspect_excess(const struct isolation *isolation, const struct suspect *link, double value)
{
    const struct series *series = &isolation->fleet->series[link->series];
    const struct reading reading = {.from = link->host,
                                    .to = link->peer,
                                    .rail = series->rail,
                                    .metric = series->metric,
                                    .value = value};
    return fleet_excess(isolation->fleet, &reading);
}

bool host_is_suspected(const struct isolation *isolation, int host, int series)
{
    for (const struct suspect *s = isolation->hosts[host].suspects; s; s = s->sibling)
        if (s->peer < 0 && (series < 0 || s->series == series) && s->state != SUSPECT_CLEARED)
            return true;
    return false;
}

/* The suspect, a new one if need be; the outcome is READING_VALUE of one by slowness. */
static struct suspect *suspect_take(struct isolation *isolation, int host, int peer, int series,
                                    enum reading_outcome outcome)
{
    struct suspect *known = suspect_find(isolation, host, peer, series, outcome != READING_VALUE);
    if (known)
        return known;
    struct suspect *suspect = arena_new(isolation->memory, 1, sizeof *suspect);
    bool loss = isolation->fleet->series[series].metric == METRIC_LOSS; /* it comes and goes */
    *suspect = (struct suspect){.host = host,
                                .peer = peer,
                                .series = series,
                                .limit = {.excess = INFINITY},
                                .outcome = outcome,
                                .by_chance = INFINITY,
                                .patience = loss ? PATIENCE_NOW : PATIENCE_SLOW,
                                .tries_most = loss ? TRIES_NOW : TRIES_SLOW,
                                .number = isolation->count++,
                                .sibling = isolation->hosts[host].suspects};
    isolation->hosts[host].suspects = suspect;
    *isolation->end = suspect;
    isolation->end = &suspect->next;
    return suspect;
}

void suspect_keep_partner(struct suspect *suspect, const struct reading *reading)
{
    if (suspect->partner_count < PARTNERS_MOST)
        suspect->partners[suspect->partner_count++] =
            reading->from == suspect->host ? reading->to : reading->from;
}

static struct suspect *take_slow(struct isolation *isolation, int host, int peer, int series,
                                 struct excess_limit limit, double excess)
{
    struct suspect *suspect = suspect_take(isolation, host, peer, series, READING_VALUE);
    isolation->slow += !isfinite(suspect->limit.excess);
    if (limit.excess < suspect->limit.excess) {
        suspect->limit = limit;
        suspect->excess = excess;
    }
    return suspect;
}

/* Only a further failure confirms it. */
static struct suspect *take_failing(struct isolation *isolation, int host, int peer, int series,
                                    const struct reading *reading)
{
    enum reading_outcome outcome = reading_outcome(reading);
    struct suspect *suspect = suspect_take(isolation, host, peer, series, outcome);
    suspect->limit = (struct excess_limit){.excess = DBL_MAX, .reference = REFERENCE_FAILURE};
    suspect->excess = INFINITY;
    suspect->patience = PATIENCE_FAILURE;
    if (outcome > suspect->outcome)
        suspect->outcome = outcome;
    if (suspect->state == SUSPECT_CLEARED) { /* it fails again */
        suspect->state = SUSPECT_OPEN;
        suspect->tries = suspect->hits = 0;
    }
    suspect_keep_partner(suspect, reading);
    return suspect;
}

void suspect_failure(struct isolation *isolation, const struct reading *reading)
{
    int from = fleet_from(isolation->fleet, reading), to = fleet_to(isolation->fleet, reading);
    take_failing(isolation, reading->from, reading->to, from, reading);
    take_failing(isolation, reading->from, -1, from, reading);
    take_failing(isolation, reading->to, -1, to, reading);
}

static void suspect_levels(struct isolation *isolation)
{
    for (int s = 0; s < isolation->fleet->series_count; s++)
        for (int h = 0; h < isolation->fleet->config.hosts; h++) {
            double level = fleet_level(isolation->fleet, s, h);
            if (isfinite(level) && limits_exceeds(isolation->limits, s, h))
                take_slow(isolation, h, -1, s, limits_cell(isolation->limits, s, h), level);
        }
}

/* ---- failures ---- */

/* Transfers from one host to another failed: of a failure but wrong data, in both directions. */
struct failing_pair {
    int from, to;
    int good; /* readings of the two hosts that have a value */
};

struct failing_host {
    int degree[DIRECTIONS]; /* in how many of the pairs it is */
    int good;               /* its readings that have a value */
    int fit[DIRECTIONS];    /* pairs that say the host is the reason: see fits_count() */
};

struct failures {
    struct failing_pair *pairs; /* sorted */
    size_t count;
    struct failing_host *hosts;
};

static int compare_pairs(const void *a, const void *b)
{
    const struct failing_pair *left = a, *right = b;
    return COMPARE(left->from, right->from) ?: COMPARE(left->to, right->to);
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
        failures->hosts[failures->pairs[i].from].degree[DIRECTION_SEND]++;
        failures->hosts[failures->pairs[i].to].degree[DIRECTION_RECEIVE]++;
    }
}

static void good_count(struct failures *failures, const struct reading *reading)
{
    failures->hosts[reading->from].good++;
    failures->hosts[reading->to].good++;
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
        struct failing_host *from = &failures->hosts[pair->from], *to = &failures->hosts[pair->to];
        int sender = from->degree[DIRECTION_SEND], receiver = to->degree[DIRECTION_RECEIVE];
        from->fit[DIRECTION_SEND] += to->good > pair->good && receiver < sender;
        to->fit[DIRECTION_RECEIVE] += from->good > pair->good && sender < receiver;
    }
}

static void failures_collect(struct failures *failures, struct arena *memory,
                             const struct fleet *fleet, const struct reading *readings,
                             size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += is_failure(fleet, &readings[i]);
    failures->pairs = arena_new(memory, 2 * found, sizeof *failures->pairs);
    failures->hosts = arena_new(memory, (size_t)fleet->config.hosts, sizeof *failures->hosts);
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
    int sender = failures->hosts[reading->from].degree[DIRECTION_SEND];
    int receiver = failures->hosts[reading->to].degree[DIRECTION_RECEIVE];
    int own = direction == DIRECTION_SEND ? sender : receiver;
    return own >= PARTNERS_LEAST && own >= (direction == DIRECTION_SEND ? receiver : sender);
}

/* Has a host failed, in one direction, with as many partners as it takes, each of which was good
 * with another host? Then it has been seen again already. */
static bool is_seen_again(const struct failures *failures, int host)
{
    const int *fit = failures->hosts[host].fit;
    return fit[DIRECTION_SEND] >= PARTNERS_LEAST || fit[DIRECTION_RECEIVE] >= PARTNERS_LEAST;
}

static void end_suspect(struct isolation *isolation, const struct failures *failures, int host,
                        int series, const struct reading *reading)
{
    struct suspect *suspect = take_failing(isolation, host, -1, series, reading);
    if (suspect->state == SUSPECT_OPEN && is_seen_again(failures, host))
        suspect->state = SUSPECT_CONFIRMED;
}

static void suspect_failures(struct isolation *isolation, const struct reading *readings,
                             size_t count)
{
    const struct fleet *fleet = isolation->fleet;
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
            suspect_failure(isolation, r);
        if (sender)
            end_suspect(isolation, &failures, r->from, fleet_from(fleet, r), r);
        if (receiver)
            end_suspect(isolation, &failures, r->to, fleet_to(fleet, r), r);
    }
    arena_free(memory);
}

/* ---- links ---- */

void suspect_link(struct isolation *isolation, const struct reading *reading)
{
    const struct fleet *fleet = isolation->fleet;
    int from = fleet_from(fleet, reading);
    double excess = fleet_excess(fleet, reading);
    struct excess_limit limit = limits_reading(isolation->limits, reading);
    if (excess > limit.excess && !host_is_suspected(isolation, reading->from, from) &&
        !host_is_suspected(isolation, reading->to, fleet_to(fleet, reading)))
        take_slow(isolation, reading->from, reading->to, from, limit, excess);
}

static void suspect_links(struct isolation *isolation, const struct reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fleet_has(isolation->fleet, &readings[i]) &&
            reading_outcome(&readings[i]) == READING_VALUE)
            suspect_link(isolation, &readings[i]);
}

/* The series of a link's receiver. */
static int peer_series(const struct fleet *fleet, int series)
{
    const struct series *s = &fleet->series[series];
    return fleet_find(fleet, s->metric, s->rail,
                      s->metric == METRIC_LATENCY ? DIRECTION_SEND : DIRECTION_RECEIVE);
}

void suspect_again(struct isolation *isolation, int host, int series, struct excess_limit limit,
                   double excess)
{
    struct suspect *suspect = suspect_find(isolation, host, -1, series, false);
    if (suspect && suspect->state != SUSPECT_CLEARED)
        return;
    if (suspect) { /* it is slow again */
        suspect->state = SUSPECT_OPEN;
        suspect->tries = suspect->hits = suspect->partner_count = suspect->values = 0;
        suspect->sum = 0;
        suspect->by_chance = INFINITY;
        isolation->hosts[host].asked = 0;
    } else {
        suspect = take_slow(isolation, host, -1, series, limit, excess);
    }
    suspect->patience = PATIENCE_NOW;
    suspect->tries_most = TRIES_NOW;
}

/* Hosts in which several suspected links meet. `links` and `readings_of`: of each cell. */
static void meetings_suspect(struct isolation *isolation, const int *links, const int *readings_of)
{
    const struct fleet *fleet = isolation->fleet;
    for (const struct suspect *link = isolation->suspects; link; link = link->next)
        for (int end = 0; end < 2 && link->peer >= 0 && !suspect_is_failing(link); end++) {
            int host = end ? link->peer : link->host;
            int series = end ? peer_series(fleet, link->series) : link->series;
            int cell = series * fleet->config.hosts + host;
            if (links[cell] >= LINKS_LEAST && links[cell] * LINKS_SHARE >= readings_of[cell])
                suspect_again(isolation, host, series, link->limit, link->excess);
        }
}

static void suspect_often_slow(struct isolation *isolation, const struct reading *readings,
                               size_t count)
{
    const struct fleet *fleet = isolation->fleet;
    int hosts = fleet->config.hosts;
    size_t cells = (size_t)fleet->series_count * (size_t)hosts;
    int *links = new_array(cells, sizeof *links),
        *readings_of = new_array(cells, sizeof *readings_of);
    for (size_t i = 0; i < count; i++)
        if (fleet_has(fleet, &readings[i])) {
            readings_of[fleet_from(fleet, &readings[i]) * hosts + readings[i].from]++;
            readings_of[fleet_to(fleet, &readings[i]) * hosts + readings[i].to]++;
        }
    for (const struct suspect *link = isolation->suspects; link; link = link->next)
        if (link->peer >= 0 && !suspect_is_failing(link)) {
            links[link->series * hosts + link->host]++;
            links[peer_series(fleet, link->series) * hosts + link->peer]++;
        }
    meetings_suspect(isolation, links, readings_of);
    free(links);
    free(readings_of);
}

void suspects_find(struct isolation *isolation, const struct reading *readings, size_t count)
{
    suspect_levels(isolation);
    suspect_failures(isolation, readings, count);
    suspect_links(isolation, readings, count);
    suspect_often_slow(isolation, readings, count);
}
