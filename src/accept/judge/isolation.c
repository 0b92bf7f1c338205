/*
 * isolation.c - suspects, from the readings of pairs; and the hosts that meet again, until each
 * suspect is confirmed or cleared.
 */
#include "accept/judge/internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

#define PATIENCE_SLOW    2
#define PATIENCE_NOW     4 /* of a host that is slow now and then */
#define TRIES_SLOW       6
#define TRIES_NOW        10
#define PATIENCE_FAILURE 6
#define LINKS_LEAST      2 /* suspects, and */
#define LINKS_SHARE      4 /* one link in so many, to suspect the host */
#define PARTNERS_LEAST   2 /* with which a host fails */
#define HITS_LEAST       2
#define ASKED_MOST       16 /* rounds of one host */

static bool is_failing(const struct suspect *suspect)
{
    return suspect->outcome != READING_VALUE;
}

enum complaint suspect_complaint(const struct isolation *isolation, const struct suspect *suspect)
{
    enum metric metric = isolation->fleet->series[suspect->series].metric;
    return is_failing(suspect)        ? COMPLAINT_FAILURE
           : metric == METRIC_LOSS    ? COMPLAINT_LOSS
           : metric == METRIC_LATENCY ? COMPLAINT_LATENCY
                                      : COMPLAINT_BANDWIDTH;
}

/* The suspect by slowness, or by failures, NULL if there is none. A latency is in either order. */
static struct suspect *suspect_find(const struct isolation *isolation, int host, int peer,
                                    int series, bool failing)
{
    bool either = peer >= 0 && isolation->fleet->series[series].metric == METRIC_LATENCY;
    for (int end = 0; end <= (int)either; end++)
        for (struct suspect *s = isolation->hosts[end ? peer : host].suspects; s; s = s->sibling)
            if (s->peer == (end ? host : peer) && s->series == series && is_failing(s) == failing)
                return s;
    return NULL;
}

/* Has the host a suspect, itself and no link, in a series (-1: any) that was not cleared? */
static bool is_suspected(const struct isolation *isolation, int host, int series)
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
    *suspect = (struct suspect){.host = host,
                                .peer = peer,
                                .series = series,
                                .limit = {.excess = INFINITY},
                                .outcome = outcome,
                                .patience = PATIENCE_SLOW,
                                .tries_most = TRIES_SLOW,
                                .number = isolation->count++,
                                .sibling = isolation->hosts[host].suspects};
    isolation->hosts[host].suspects = suspect;
    *isolation->end = suspect;
    isolation->end = &suspect->next;
    return suspect;
}

/* Keeps the partner with which a reading showed it. */
static void partner_keep(struct suspect *suspect, const struct reading *reading)
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
    partner_keep(suspect, reading);
    return suspect;
}

/* Both ends of a failed reading and the link between them become suspects. */
static void failure_suspect(struct isolation *isolation, const struct reading *reading)
{
    int from = fleet_from(isolation->fleet, reading), to = fleet_to(isolation->fleet, reading);
    take_failing(isolation, reading->from, reading->to, from, reading);
    take_failing(isolation, reading->from, -1, from, reading);
    take_failing(isolation, reading->to, -1, to, reading);
}

static void levels_suspect(struct isolation *isolation)
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

static void failures_suspect(struct isolation *isolation, const struct reading *readings,
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
            failure_suspect(isolation, r);
        if (sender)
            end_suspect(isolation, &failures, r->from, fleet_from(fleet, r), r);
        if (receiver)
            end_suspect(isolation, &failures, r->to, fleet_to(fleet, r), r);
    }
    arena_free(memory);
}

/* ---- links ---- */

static void links_suspect(struct isolation *isolation, const struct reading *readings, size_t count)
{
    const struct fleet *fleet = isolation->fleet;
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!fleet_has(fleet, r) || reading_outcome(r) != READING_VALUE)
            continue;
        int from = fleet_from(fleet, r);
        double excess = fleet_excess(fleet, r);
        struct excess_limit limit = limits_reading(isolation->limits, r);
        if (excess > limit.excess && !is_suspected(isolation, r->from, from) &&
            !is_suspected(isolation, r->to, fleet_to(fleet, r)))
            take_slow(isolation, r->from, r->to, from, limit, excess);
    }
}

/* The series of a link's receiver. */
static int peer_series(const struct fleet *fleet, int series)
{
    const struct series *s = &fleet->series[series];
    return fleet_find(fleet, s->metric, s->rail,
                      s->metric == METRIC_LATENCY ? DIRECTION_SEND : DIRECTION_RECEIVE);
}

/* A host with slow links is a suspect, although its level is good. */
static void often_slow_take(struct isolation *isolation, int host, int series,
                            const struct suspect *link)
{
    if (suspect_find(isolation, host, -1, series, false))
        return;
    struct suspect *suspect = take_slow(isolation, host, -1, series, link->limit, link->excess);
    suspect->patience = PATIENCE_NOW;
    suspect->tries_most = TRIES_NOW;
}

/* Hosts in which several suspected links meet. `links` and `readings_of`: of each cell. */
static void meetings_suspect(struct isolation *isolation, const int *links, const int *readings_of)
{
    const struct fleet *fleet = isolation->fleet;
    for (const struct suspect *link = isolation->suspects; link; link = link->next)
        for (int end = 0; end < 2 && link->peer >= 0 && !is_failing(link); end++) {
            int host = end ? link->peer : link->host;
            int series = end ? peer_series(fleet, link->series) : link->series;
            int cell = series * fleet->config.hosts + host;
            if (links[cell] >= LINKS_LEAST && links[cell] * LINKS_SHARE >= readings_of[cell])
                often_slow_take(isolation, host, series, link);
        }
}

static void often_slow_suspect(struct isolation *isolation, const struct reading *readings,
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
        if (link->peer >= 0 && !is_failing(link)) {
            links[link->series * hosts + link->host]++;
            links[peer_series(fleet, link->series) * hosts + link->peer]++;
        }
    meetings_suspect(isolation, links, readings_of);
    free(links);
    free(readings_of);
}

/* ---- partners ---- */

static void mark_met(struct isolation *isolation, int a, int b)
{
    if (isolation->hosts[a].met)
        isolation->hosts[a].met[b] = true;
    if (isolation->hosts[b].met)
        isolation->hosts[b].met[a] = true;
}

static void met_reserve(struct isolation *isolation)
{
    for (const struct suspect *s = isolation->suspects; s; s = s->next)
        if (s->peer < 0 && !isolation->hosts[s->host].met)
            isolation->hosts[s->host].met =
                arena_new(isolation->memory, (size_t)isolation->fleet->config.hosts, sizeof(bool));
}

struct isolation *isolation_create(const struct fleet *fleet, const struct references *references,
                                   const struct reading *readings, size_t count, uint64_t seed)
{
    struct arena *memory = arena_create();
    struct isolation *isolation = arena_new(memory, 1, sizeof *isolation);
    size_t hosts = (size_t)fleet->config.hosts;
    *isolation = (struct isolation){
        .memory = memory,
        .fleet = fleet,
        .limits = limits_create(fleet, references, readings, count),
        .end = &isolation->suspects,
        .hosts = arena_new(memory, hosts, sizeof *isolation->hosts),
        .crossed = arena_new(memory, hosts, sizeof *isolation->crossed), /* no more than hosts */
        .order = arena_new(memory, hosts, sizeof *isolation->order),
    };
    levels_suspect(isolation);
    failures_suspect(isolation, readings, count);
    links_suspect(isolation, readings, count);
    often_slow_suspect(isolation, readings, count);
    met_reserve(isolation);
    for (size_t i = 0; i < count; i++)
        if (fleet_has(fleet, &readings[i]))
            mark_met(isolation, readings[i].from, readings[i].to);
    random_shuffle(isolation->order, fleet->config.hosts, &seed);
    return isolation;
}

void isolation_free(struct isolation *isolation)
{
    if (!isolation)
        return;
    limits_free(isolation->limits);
    arena_free(isolation->memory);
}

/* Does what a host is suspected of explain a link? A failure may be an end's or the link's until
 * one of them is confirmed. */
static bool explains(const struct isolation *isolation, int host, const struct suspect *link)
{
    enum complaint complaint = suspect_complaint(isolation, link);
    for (const struct suspect *end = isolation->hosts[host].suspects; end; end = end->sibling) {
        bool likely =
            is_failing(link) ? end->state == SUSPECT_CONFIRMED : end->state != SUSPECT_CLEARED;
        if (end->peer < 0 && likely && suspect_complaint(isolation, end) == complaint)
            return true;
    }
    return false;
}

static bool is_asked(const struct isolation *isolation, const struct suspect *suspect)
{
    const struct isolated_host *hosts = isolation->hosts;
    return suspect->state == SUSPECT_OPEN && hosts[suspect->host].asked < ASKED_MOST &&
           (suspect->peer < 0 || (hosts[suspect->peer].asked < ASKED_MOST &&
                                  !explains(isolation, suspect->host, suspect) &&
                                  !explains(isolation, suspect->peer, suspect)));
}

/* How good a partner a host is for a suspect. */
enum fitness {
    FITNESS_NONE,
    FITNESS_LINKS, /* links of it are or were suspects, or it was itself and is cleared */
    FITNESS_MET,   /* it was only ever good, and has met the suspect */
    FITNESS_FRESH, /* and has not */
};

static enum fitness fitness_of(const struct isolation *isolation, int host, int suspect)
{
    const struct isolated_host *hosts = isolation->hosts;
    if (is_suspected(isolation, host, -1))
        return FITNESS_NONE;
    if (hosts[host].suspects || hosts[host].links > 0)
        return FITNESS_LINKS;
    return hosts[suspect].met && hosts[suspect].met[host] ? FITNESS_MET : FITNESS_FRESH;
}

/* The best partner that is free; -1: none. The search begins where the last one ended, so that all
 * good hosts are partners in turn. */
static int partner_find(struct isolation *isolation, int suspect)
{
    enum fitness best = FITNESS_NONE;
    int partner = -1, hosts = isolation->fleet->config.hosts;
    for (int i = 0; i < hosts && best < FITNESS_FRESH; i++) {
        int host = isolation->order[(isolation->at + i) % hosts];
        if (host == suspect || isolation->hosts[host].busy || !isolation->present[host])
            continue;
        enum fitness fitness = fitness_of(isolation, host, suspect);
        if (fitness > best) {
            best = fitness;
            partner = host;
        }
    }
    isolation->at = (isolation->at + 1) % hosts;
    return partner;
}

static void pair_take(struct isolation *isolation, int a, int b)
{
    isolation->hosts[a].busy = isolation->hosts[b].busy = true;
    isolation->hosts[a].asked++;
    mark_met(isolation, a, b);
    isolation->pairs[isolation->pair_count++] = (struct host_pair){.a = a, .b = b};
}

/* Takes both switches of a link for this round; false: another link has one of them. */
static bool switches_take(struct isolation *isolation, const struct suspect *link)
{
    const int *switches = isolation->fleet->config.switches;
    int a = switches ? switches[link->host] : -1, b = switches ? switches[link->peer] : -1;
    if (a < 0 || b < 0 || a == b)
        return true;
    if (isolation->crossed[a] || isolation->crossed[b])
        return false;
    return isolation->crossed[a] = isolation->crossed[b] = true;
}

static void choose_links(struct isolation *isolation)
{
    const struct isolated_host *hosts = isolation->hosts;
    const bool *present = isolation->present;
    for (const struct suspect *s = isolation->suspects; s; s = s->next)
        if (s->peer >= 0 && present[s->host] && present[s->peer] && !hosts[s->host].busy &&
            !hosts[s->peer].busy && is_asked(isolation, s) && switches_take(isolation, s)) {
            pair_take(isolation, s->host, s->peer);
            isolation->hosts[s->peer].asked++;
        }
}

static void choose_hosts(struct isolation *isolation)
{
    for (const struct suspect *s = isolation->suspects; s; s = s->next) {
        if (s->peer >= 0 || !isolation->present[s->host] || isolation->hosts[s->host].busy ||
            !is_asked(isolation, s))
            continue;
        int partner = partner_find(isolation, s->host);
        if (partner >= 0)
            pair_take(isolation, s->host, partner);
    }
}

/* Begins a round. Returns its rails: one of which no suspect is asked would bring what is known. */
static uint64_t round_begin(struct isolation *isolation)
{
    uint64_t rails = 0;
    for (int h = 0; h < isolation->fleet->config.hosts; h++) {
        struct isolated_host *host = &isolation->hosts[h];
        host->links = host->busy = isolation->crossed[h] = 0;
    }
    for (const struct suspect *s = isolation->suspects; s; s = s->next) {
        if (s->peer >= 0)
            isolation->hosts[s->peer].links++;
        if (is_asked(isolation, s))
            rails |= UINT64_C(1) << isolation->fleet->series[s->series].rail;
    }
    return rails;
}

int isolation_pairs(struct isolation *isolation, const bool *present, struct host_pair *pairs,
                    uint64_t *rails)
{
    isolation->present = present;
    isolation->pairs = pairs;
    isolation->pair_count = 0;
    *rails = round_begin(isolation);
    bool links_first = isolation->round++ % 2 == 0; /* neither waits for all of the other */
    if (links_first)
        choose_links(isolation);
    choose_hosts(isolation);
    if (!links_first)
        choose_links(isolation);
    isolation->is_done = isolation->pair_count == 0;
    return isolation->pair_count;
}

/* ---- evidence ---- */

/* Suspected readings of one host with another. */
static int slow_readings(const struct isolation *isolation, int from, int to)
{
    int count = 0;
    for (const struct suspect *s = isolation->hosts[from].suspects; s; s = s->sibling)
        count += s->peer == to && !is_failing(s);
    return count;
}

/* A host that is slow now and then is so with several partners; else a link is. */
static bool is_seen_enough(const struct suspect *suspect)
{
    bool differ = suspect->peer >= 0 || suspect->patience != PATIENCE_NOW;
    for (int i = 1; i < suspect->partner_count; i++)
        differ |= suspect->partners[i] != suspect->partners[0];
    return suspect->hits >= HITS_LEAST && differ;
}

static void suspect_judge(const struct isolation *isolation, struct suspect *suspect)
{
    int good = suspect->tries - suspect->hits, host = suspect->host, peer = suspect->peer;
    if (suspect->state != SUSPECT_OPEN)
        return;
    if (is_failing(suspect)) {
        suspect->state = suspect->hits > 0           ? SUSPECT_CONFIRMED
                         : good >= suspect->patience ? SUSPECT_CLEARED
                                                     : SUSPECT_OPEN;
        return;
    }
    const struct limits *limits = isolation->limits;
    enum metric metric = isolation->fleet->series[suspect->series].metric;
    const struct healthy_readings *noise = &limits->noise[metric == METRIC_LATENCY];
    double alarms_most = limits->references.alarms;
    double beyond = noise->beyond - noise->beyond_of[host],
           count = noise->count - noise->count_of[host];
    if (peer >= 0) {
        beyond = noise->beyond_reading - slow_readings(isolation, host, peer) -
                 slow_readings(isolation, peer, host);
        count = noise->count;
    }
    double share = limits_share(beyond, count);
    double alarms = isolation->slow * binomial_tail(suspect->tries, suspect->hits, share);
    if (is_seen_enough(suspect) && alarms <= alarms_most / suspect->tries_most)
        suspect->state = SUSPECT_CONFIRMED;
    else if ((suspect->hits == 0 && good >= suspect->patience) ||
             suspect->tries >= suspect->tries_most)
        suspect->state = SUSPECT_CLEARED;
}

static void suspect_try(const struct isolation *isolation, struct suspect *suspect,
                        const struct reading *reading)
{
    if (suspect->state != SUSPECT_OPEN && suspect->peer >= 0)
        return;
    enum reading_outcome outcome = reading_outcome(reading);
    bool hit = fleet_excess(isolation->fleet, reading) > suspect->limit.excess;
    suspect->tries++;
    suspect->hits += hit;
    if (outcome > suspect->outcome)
        suspect->outcome = outcome;
    if (hit)
        partner_keep(suspect, reading);
    suspect_judge(isolation, suspect);
}

/* Is the host, or the link, suspected of failures on this rail? */
static bool fails(const struct isolation *isolation, int host, int peer, int rail)
{
    for (const struct suspect *s = isolation->hosts[host].suspects; s; s = s->sibling)
        if (s->peer == peer && is_failing(s) && s->state != SUSPECT_CLEARED &&
            isolation->fleet->series[s->series].rail == rail)
            return true;
    return false;
}

/* Takes what a reading says of the suspects of a host, or of its link to a peer. A failure counts
 * for the failures that are suspected on its rail; if there are none, for all that is suspected
 * there: its job got no further. */
static bool suspects_try(struct isolation *isolation, int host, int peer, int series,
                         const struct reading *reading)
{
    bool failed = reading_outcome(reading) != READING_VALUE, tried = false;
    bool failing = fails(isolation, host, peer, reading->rail) ||
                   (peer >= 0 && fails(isolation, peer, host, reading->rail));
    for (struct suspect *s = isolation->hosts[host].suspects; s; s = s->sibling) {
        bool on_rail = isolation->fleet->series[s->series].rail == reading->rail;
        if (s->peer != peer || (peer < 0 && s->state == SUSPECT_CLEARED) ||
            (failed && failing && !is_failing(s)) || !(s->series == series || (failed && on_rail)))
            continue;
        suspect_try(isolation, s, reading);
        tried = true;
    }
    return tried;
}

/* A reading of a suspected host with a partner that is none. */
static bool host_try(struct isolation *isolation, int host, int partner, int series,
                     const struct reading *reading)
{
    return !is_suspected(isolation, partner, -1) &&
           suspects_try(isolation, host, -1, series, reading);
}

static bool link_try(struct isolation *isolation, const struct reading *reading)
{
    int from = reading->from, to = reading->to, series = fleet_from(isolation->fleet, reading);
    bool back = reading_outcome(reading) != READING_VALUE || reading->metric == METRIC_LATENCY;
    bool tried = suspects_try(isolation, from, to, series, reading);
    return (back && suspects_try(isolation, to, from, series, reading)) || tried;
}

void isolation_add(struct isolation *isolation, const struct reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!fleet_has(isolation->fleet, r))
            continue;
        bool sender = host_try(isolation, r->from, r->to, fleet_from(isolation->fleet, r), r);
        bool receiver = host_try(isolation, r->to, r->from, fleet_to(isolation->fleet, r), r);
        bool link = link_try(isolation, r);
        bool known = sender || receiver || link || reading_outcome(r) == READING_VALUE;
        if (!known && !is_suspected(isolation, r->from, -1) &&
            !is_suspected(isolation, r->to, -1)) {
            failure_suspect(isolation, r);
            met_reserve(isolation);
        }
    }
}
