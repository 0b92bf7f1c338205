/*
 * isolation.c - the hosts that meet again, until each suspect is confirmed or cleared.
 */
#include "accept/judge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

#define HITS_LEAST 2
#define ASKED_MOST 24 /* rounds of one host */
#define LONE_MOST  8  /* links that are measured alone, */
#define LONE_TRIES 3  /* so often, if they were slow now and then */

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
    suspects_find(isolation, readings, count);
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
        bool likely = suspect_is_failing(link) ? end->state == SUSPECT_CONFIRMED
                                               : end->state != SUSPECT_CLEARED;
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

/* How good a partner a host is for a suspect: the sum of these, so that each counts for more than
 * all before it. */
enum fitness {
    FITNESS_NONE = 0,
    FITNESS_FREE = 1,   /* it may be one */
    FITNESS_FRESH = 2,  /* it has not met the suspect */
    FITNESS_NEAR = 4,   /* it is behind the same switch */
    FITNESS_GOOD = 8,   /* it was only ever good: no suspect, and no link of it */
    FITNESS_OTHER = 16, /* neither was the suspect slow again with it, nor it itself with any */
    FITNESS_WAY = 32,   /* the link between them is and was no suspect */
    FITNESS_BEST =
        FITNESS_FREE + FITNESS_FRESH + FITNESS_NEAR + FITNESS_GOOD + FITNESS_OTHER + FITNESS_WAY,
};

/* Are both switches known, and not the same? */
static bool is_across(const struct isolation *isolation, int a, int b)
{
    const int *switches = isolation->fleet->config.switches;
    return switches && switches[a] >= 0 && switches[b] >= 0 && switches[a] != switches[b];
}

/* May a pair be measured in this round? Of pairs across switches each switch has one. */
static bool has_way(const struct isolation *isolation, int a, int b)
{
    const int *switches = isolation->fleet->config.switches;
    return !is_across(isolation, a, b) ||
           !(isolation->crossed[switches[a]] || isolation->crossed[switches[b]]);
}

static bool link_is_suspect(const struct isolation *isolation, int from, int to)
{
    for (const struct suspect *s = isolation->hosts[from].suspects; s; s = s->sibling)
        if (s->peer == to)
            return true;
    return false;
}

/* Has a reading with this partner shown what the host is suspected of? */
static bool is_seen_with(const struct isolation *isolation, int host, int partner)
{
    for (const struct suspect *s = isolation->hosts[host].suspects; s; s = s->sibling)
        for (int i = 0; i < s->partner_count && s->peer < 0 && s->state == SUSPECT_OPEN; i++)
            if (s->partners[i] == partner)
                return true;
    return false;
}

/* Was a host that is cleared slow in any reading that was to clear it? */
static bool is_doubtful(const struct isolation *isolation, int host)
{
    for (const struct suspect *s = isolation->hosts[host].suspects; s; s = s->sibling)
        if (s->peer < 0 && s->hits > 0)
            return true;
    return false;
}

static unsigned fitness_of(const struct isolation *isolation, int host, int suspect)
{
    const struct isolated_host *hosts = isolation->hosts;
    bool may = !isolation->fleet->config.inferred || has_way(isolation, host, suspect);
    bool met = hosts[suspect].met && hosts[suspect].met[host];
    bool way =
        !link_is_suspect(isolation, host, suspect) && !link_is_suspect(isolation, suspect, host);
    bool other = !is_seen_with(isolation, suspect, host) && !is_doubtful(isolation, host);
    if (host_is_suspected(isolation, host, -1) || !may)
        return FITNESS_NONE;
    return FITNESS_FREE | (met ? 0 : FITNESS_FRESH) |
           (is_across(isolation, host, suspect) ? 0 : FITNESS_NEAR) |
           (hosts[host].suspects || hosts[host].links > 0 ? 0 : FITNESS_GOOD) |
           (other ? FITNESS_OTHER : 0) | (way ? FITNESS_WAY : 0);
}

/* The best partner that is free; -1: none. The search begins where the last one ended, so that all
 * good hosts are partners in turn. */
static int partner_find(struct isolation *isolation, int suspect)
{
    unsigned best = FITNESS_NONE;
    int partner = -1, hosts = isolation->fleet->config.hosts;
    for (int i = 0; i < hosts && best < FITNESS_BEST; i++) {
        int host = isolation->order[(isolation->at + i) % hosts];
        if (host == suspect || isolation->hosts[host].busy || !isolation->present[host])
            continue;
        unsigned fitness = fitness_of(isolation, host, suspect);
        if (fitness > best) {
            best = fitness;
            partner = host;
        }
    }
    isolation->at = (isolation->at + 1) % hosts;
    return partner;
}

static void pair_take(struct isolation *isolation, int a, int b, bool is_link)
{
    const struct fleet_config *config = &isolation->fleet->config;
    if (is_across(isolation, a, b) && (is_link || config->inferred))
        isolation->crossed[config->switches[a]] = isolation->crossed[config->switches[b]] = true;
    isolation->hosts[a].busy = isolation->hosts[b].busy = true;
    isolation->hosts[a].asked++;
    mark_met(isolation, a, b);
    isolation->pairs[isolation->pair_count++] = (struct host_pair){.a = a, .b = b};
}

static void choose_links(struct isolation *isolation)
{
    const struct isolated_host *hosts = isolation->hosts;
    const bool *present = isolation->present;
    for (const struct suspect *s = isolation->suspects; s; s = s->next)
        if (s->peer >= 0 && present[s->host] && present[s->peer] && !hosts[s->host].busy &&
            !hosts[s->peer].busy && is_asked(isolation, s) &&
            has_way(isolation, s->host, s->peer)) {
            pair_take(isolation, s->host, s->peer, true);
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
            pair_take(isolation, s->host, partner, false);
    }
}

/* Begins a round. Returns its rails: one of which no suspect is asked would bring what is known. */
static uint64_t round_begin(struct isolation *isolation)
{
    uint64_t rails = 0;
    for (int h = 0; h < isolation->fleet->config.hosts; h++) {
        struct isolated_host *host = &isolation->hosts[h];
        host->links = host->busy = host->is_end = isolation->crossed[h] = 0;
    }
    for (const struct suspect *s = isolation->suspects; s; s = s->next) {
        if (s->peer >= 0)
            isolation->hosts[s->peer].links++;
        if (is_asked(isolation, s))
            rails |= UINT64_C(1) << isolation->fleet->series[s->series].rail;
    }
    return rails;
}

static bool is_confirmed_link(const struct suspect *suspect)
{
    return suspect->peer >= 0 && suspect->state == SUSPECT_CONFIRMED &&
           !suspect_is_failing(suspect);
}

static bool is_slow_link(const struct isolation *isolation, const struct suspect *suspect)
{
    return is_confirmed_link(suspect) &&
           suspect_complaint(isolation, suspect) == COMPLAINT_BANDWIDTH &&
           !explains(isolation, suspect->host, suspect) &&
           !explains(isolation, suspect->peer, suspect);
}

static bool are_one_pair(const struct suspect *a, const struct suspect *b)
{
    return (a->host == b->host && a->peer == b->peer) || (a->host == b->peer && a->peer == b->host);
}

/* Lets an end of a link meet a host that is not its other end. False: none is there. */
static bool end_take(struct isolation *isolation, int end, int other)
{
    struct isolated_host *host = &isolation->hosts[end], *peer = &isolation->hosts[other];
    if (!isolation->present[end] || host->busy || host_is_suspected(isolation, end, -1))
        return false;
    bool busy = peer->busy;
    peer->busy = true;
    int partner = partner_find(isolation, end);
    peer->busy = busy;
    host->is_end = partner >= 0;
    if (partner >= 0)
        pair_take(isolation, end, partner, false);
    return partner >= 0;
}

/* The ends of confirmed links meet others. */
static void choose_ends(struct isolation *isolation, uint64_t *rails)
{
    for (struct suspect *s = isolation->suspects; s; s = s->next) {
        if (!is_confirmed_link(s))
            continue;
        bool host = !s->ends_met[0] && end_take(isolation, s->host, s->peer);
        bool peer = !s->ends_met[1] && end_take(isolation, s->peer, s->host);
        for (struct suspect *same = s; same && (host || peer); same = same->next) {
            bool turned = same->host != s->host;
            if (!are_one_pair(same, s))
                continue;
            same->ends_met[turned] |= host;
            same->ends_met[!turned] |= peer;
            if (is_confirmed_link(same))
                *rails |= UINT64_C(1) << isolation->fleet->series[same->series].rail;
        }
    }
}

/* Where most links were good alone, so are those that cannot be measured alone any more. */
static void rest_clear(struct isolation *isolation)
{
    for (struct suspect *s = isolation->suspects; s; s = s->next)
        if (is_slow_link(isolation, s) && !s->met_alone &&
            2 * isolation->lone_cleared > isolation->lone_count)
            s->state = SUSPECT_CLEARED;
}

/* The next slow link that was not measured alone, for a round of its own. */
static void choose_lone(struct isolation *isolation, uint64_t *rails)
{
    struct suspect *lone = isolation->suspects;
    while (lone && (!is_slow_link(isolation, lone) || lone->met_alone ||
                    !isolation->present[lone->host] || !isolation->present[lone->peer]))
        lone = lone->next;
    if (!lone)
        return;
    if (isolation->lone_count == LONE_MOST && !lone->counted) {
        rest_clear(isolation);
        return;
    }
    isolation->lone = lone;
    isolation->lone_count += !lone->counted;
    lone->counted = true;
    for (const struct suspect *s = lone; s; s = s->next)
        if (is_slow_link(isolation, s) && are_one_pair(s, lone))
            *rails |= UINT64_C(1) << isolation->fleet->series[s->series].rail;
    pair_take(isolation, lone->host, lone->peer, true);
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
    isolation->lone = NULL;
    if (isolation->pair_count == 0)
        choose_lone(isolation, rails);
    if (isolation->pair_count == 0)
        choose_ends(isolation, rails);
    isolation->is_done = isolation->pair_count == 0;
    return isolation->pair_count;
}

/* ---- evidence ---- */

/* Suspected readings of one host with another. */
static int slow_readings(const struct isolation *isolation, int from, int to)
{
    int count = 0;
    for (const struct suspect *s = isolation->hosts[from].suspects; s; s = s->sibling)
        count += s->peer == to && !suspect_is_failing(s);
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

/* The part of a reading in the sums of a suspect. The mean of bandwidths is that of the times: the
 * users of a link move bytes. */
static double summand(const struct isolation *isolation, const struct suspect *suspect,
                      double value)
{
    return suspect_complaint(isolation, suspect) == COMPLAINT_BANDWIDTH ? 1 / value : value;
}

/* Is the bandwidth of a link slow by the mean of so many readings? A busy core takes a part of it
 * now and then. */
static bool is_slow_by_mean(const struct isolation *isolation, const struct suspect *link,
                            double sum, int count)
{
    return suspect_excess(isolation, link, count / sum) > link->limit.excess;
}

/* Is the bandwidth of a link good by the mean of the readings since it is suspected? */
static bool is_good_by_mean(const struct isolation *isolation, const struct suspect *suspect)
{
    return suspect->peer >= 0 && suspect->values > 0 &&
           suspect_complaint(isolation, suspect) == COMPLAINT_BANDWIDTH &&
           !is_slow_by_mean(isolation, suspect, suspect->sum, suspect->values);
}

static void suspect_judge(const struct isolation *isolation, struct suspect *suspect)
{
    int good = suspect->tries - suspect->hits, host = suspect->host, peer = suspect->peer;
    if (suspect->state != SUSPECT_OPEN)
        return;
    if (suspect_is_failing(suspect)) {
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
    suspect->by_chance = isolation->slow * binomial_tail(suspect->tries, suspect->hits, share);
    if (is_seen_enough(suspect) && suspect->by_chance <= alarms_most / suspect->tries_most &&
        !is_good_by_mean(isolation, suspect))
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
    if (outcome == READING_VALUE) {
        suspect->values++;
        suspect->sum += summand(isolation, suspect, reading->value);
    }
    if (outcome > suspect->outcome)
        suspect->outcome = outcome;
    if (hit)
        suspect_keep_partner(suspect, reading);
    suspect_judge(isolation, suspect);
}

/* Is the host, or the link, suspected of failures on this rail? */
static bool fails(const struct isolation *isolation, int host, int peer, int rail)
{
    for (const struct suspect *s = isolation->hosts[host].suspects; s; s = s->sibling)
        if (s->peer == peer && suspect_is_failing(s) && s->state != SUSPECT_CLEARED &&
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
            (failed && failing && !suspect_is_failing(s)) ||
            !(s->series == series || (failed && on_rail)))
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
    return !host_is_suspected(isolation, partner, -1) &&
           suspects_try(isolation, host, -1, series, reading);
}

/* A link that is suspected of losses in one direction, and now loses packets in the other. */
static void way_back_suspect(struct isolation *isolation, const struct reading *reading)
{
    int from = reading->from, to = reading->to, series = fleet_from(isolation->fleet, reading);
    const struct suspect *forth = suspect_find(isolation, to, from, series, false);
    if (reading->metric == METRIC_LOSS && reading_outcome(reading) == READING_VALUE && forth &&
        forth->state != SUSPECT_CLEARED)
        suspect_link(isolation, reading);
}

static bool link_try(struct isolation *isolation, const struct reading *reading)
{
    int from = reading->from, to = reading->to, series = fleet_from(isolation->fleet, reading);
    bool back = reading_outcome(reading) != READING_VALUE || reading->metric == METRIC_LATENCY;
    bool tried = suspects_try(isolation, from, to, series, reading);
    if (!tried)
        way_back_suspect(isolation, reading);
    return (back && suspects_try(isolation, to, from, series, reading)) || tried;
}

/* Has the host a confirmed link that is slow in the metric of a reading, on its rail? */
static bool is_end_for(const struct isolation *isolation, int host, const struct reading *reading)
{
    for (const struct suspect *s = isolation->suspects; s; s = s->next) {
        const struct series *series = &isolation->fleet->series[s->series];
        if (is_confirmed_link(s) && (s->host == host || s->peer == host) &&
            series->metric == reading->metric && series->rail == reading->rail)
            return true;
    }
    return false;
}

/* A reading of the end of a confirmed link with another host: if it is slow with that one, too, it
 * is suspected itself. */
static void end_judge(struct isolation *isolation, const struct reading *reading)
{
    const int series[] = {fleet_from(isolation->fleet, reading),
                          fleet_to(isolation->fleet, reading)};
    const int ends[] = {reading->from, reading->to};
    struct excess_limit limit = limits_reading(isolation->limits, reading);
    double excess = fleet_excess(isolation->fleet, reading);
    if (reading_outcome(reading) != READING_VALUE || excess <= limit.excess)
        return;
    for (int e = 0; e < 2; e++)
        if (isolation->hosts[ends[e]].is_end && is_end_for(isolation, ends[e], reading))
            suspect_again(isolation, ends[e], series[e], limit, excess);
    met_reserve(isolation);
}

/* Is a link slow alone, by the mean, even if the readings that are left are as the fleet's? */
static bool is_slow_alone(const struct isolation *isolation, const struct suspect *link)
{
    const struct series *series = &isolation->fleet->series[link->series];
    double usual = fleet_link_value(isolation->fleet, link->series, link->host, link->peer,
                                    series->levels.median);
    double left = LONE_TRIES - link->alone;
    return is_slow_by_mean(isolation, link, link->alone_sum + left / usual, LONE_TRIES);
}

/* A reading of a pair that is alone: a link that is not slow now shares its way with others. One
 * that was slow now and then is judged by the mean of several. */
static void lone_take(struct isolation *isolation, const struct reading *reading)
{
    int series = fleet_from(isolation->fleet, reading);
    struct suspect *link = suspect_find(isolation, reading->from, reading->to, series, false);
    if (!link || link->met_alone || !is_slow_link(isolation, link))
        return;
    if (reading_outcome(reading) != READING_VALUE) {
        link->met_alone = true;
        return;
    }
    link->alone++;
    link->alone_sum += summand(isolation, link, reading->value);
    if (link->hits == link->tries) /* steady: the first reading says all */
        link->met_alone = is_slow_by_mean(isolation, link, link->alone_sum, link->alone);
    else
        link->met_alone = is_slow_alone(isolation, link);
    if (!link->met_alone && (link->hits == link->tries || link->alone == LONE_TRIES))
        link->state = SUSPECT_CLEARED;
}

/* The readings of the round are in. A link without any has no further round. */
static void lone_judge(struct isolation *isolation, int alone_before)
{
    struct suspect *lone = isolation->lone;
    isolation->lone_cleared += lone->state == SUSPECT_CLEARED;
    lone->met_alone |= lone->alone == alone_before;
}

void isolation_add(struct isolation *isolation, const struct reading *readings, size_t count)
{
    int alone_before = isolation->lone ? isolation->lone->alone : 0;
    for (size_t i = 0; i < count; i++) {
        if (!fleet_has(isolation->fleet, &readings[i]))
            continue;
        if (isolation->lone)
            lone_take(isolation, &readings[i]);
        else
            end_judge(isolation, &readings[i]);
    }
    if (isolation->lone)
        lone_judge(isolation, alone_before);
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!fleet_has(isolation->fleet, r))
            continue;
        bool sender = host_try(isolation, r->from, r->to, fleet_from(isolation->fleet, r), r);
        bool receiver = host_try(isolation, r->to, r->from, fleet_to(isolation->fleet, r), r);
        bool link = link_try(isolation, r);
        bool known = sender || receiver || link || reading_outcome(r) == READING_VALUE;
        if (!known && !host_is_suspected(isolation, r->from, -1) &&
            !host_is_suspected(isolation, r->to, -1)) {
            suspect_failure(isolation, r);
            met_reserve(isolation);
        }
    }
}
