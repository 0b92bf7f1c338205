/*
 * isolation.c - chooses pairs for suspects, and judges what they bring.
 */
#include "accept/judge/judge.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

#define HITS_LEAST 2
#define ASKED_MOST 16 /* rounds of one host */

struct isolation {
    const struct fleet *fleet;
    const struct limits *limits;
    struct suspicion *suspicion;
    int hosts, round;
    int *order; /* hosts, shuffled: who is asked to be a partner */
    int at;     /* in the order */
    bool is_done;
    int *asked;          /* [hosts] in how many rounds it was for its own sake */
    unsigned char **met; /* [hosts] of a suspect: [hosts], those that it has met; else NULL */
    bool *busy;          /* [hosts] in this round */
    bool *crossed;       /* in this round: a link of this switch to another one is measured */
};

const struct suspicion *isolation_suspicion(const struct isolation *isolation)
{
    return isolation->suspicion;
}

static void mark_met(struct isolation *isolation, int a, int b)
{
    if (isolation->met[a])
        isolation->met[a][b] = 1;
    if (isolation->met[b])
        isolation->met[b][a] = 1;
}

static bool met_reserve(struct isolation *isolation)
{
    for (int i = 0; i < isolation->suspicion->count; i++) {
        const struct suspect *suspect = &isolation->suspicion->of[i];
        if (suspect->peer < 0 && !isolation->met[suspect->host] &&
            !(isolation->met[suspect->host] = calloc((size_t)isolation->hosts, 1)))
            return false;
    }
    return true;
}

struct isolation *isolation_create(const struct fleet *fleet, const struct limits *limits,
                                   const struct reading *readings, size_t count, uint64_t seed)
{
    struct isolation *isolation = calloc(1, sizeof *isolation);
    if (!isolation)
        return NULL;
    int hosts = fleet_shape(fleet)->hosts;
    *isolation = (struct isolation){
        .fleet = fleet,
        .limits = limits,
        .suspicion = suspicion_create(fleet, limits, readings, count),
        .hosts = hosts,
        .order = calloc((size_t)hosts, sizeof *isolation->order),
        .asked = calloc((size_t)hosts, sizeof *isolation->asked),
        .met = calloc((size_t)hosts, sizeof *isolation->met),
        .busy = calloc((size_t)hosts, sizeof *isolation->busy),
        .crossed = calloc((size_t)hosts, sizeof *isolation->crossed),
    };
    if (!isolation->suspicion || !isolation->order || !isolation->asked || !isolation->met ||
        !isolation->busy || !isolation->crossed || !met_reserve(isolation)) {
        isolation_free(isolation);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        if (fleet_has(fleet, &readings[i]))
            mark_met(isolation, readings[i].from, readings[i].to);
    random_shuffle(isolation->order, hosts, &seed);
    return isolation;
}

void isolation_free(struct isolation *isolation)
{
    if (!isolation)
        return;
    for (int h = 0; isolation->met && h < isolation->hosts; h++)
        free(isolation->met[h]);
    suspicion_free(isolation->suspicion);
    free(isolation->order);
    free(isolation->asked);
    free(isolation->met);
    free(isolation->busy);
    free(isolation->crossed);
    free(isolation);
}

static bool is_of_latency(const struct isolation *isolation, const struct suspect *suspect)
{
    return fleet_series(isolation->fleet, suspect->series)->metric == METRIC_LATENCY;
}

/* Does what a host is suspected of explain a link? A failure may be an end's or the link's until
 * one of them is confirmed. */
static bool explains(const struct isolation *isolation, int host, const struct suspect *link)
{
    const struct suspicion *suspicion = isolation->suspicion;
    for (int i = suspicion->first[host]; i >= 0; i = suspicion->of[i].next) {
        const struct suspect *end = &suspicion->of[i];
        bool alike = suspect_is_failing(end) == suspect_is_failing(link) &&
                     (suspect_is_failing(end) ||
                      is_of_latency(isolation, end) == is_of_latency(isolation, link));
        bool likely = suspect_is_failing(link) ? end->state == SUSPECT_CONFIRMED
                                               : end->state != SUSPECT_CLEARED;
        if (end->peer < 0 && alike && likely)
            return true;
    }
    return false;
}

static bool is_explained(const struct isolation *isolation, const struct suspect *link)
{
    return explains(isolation, link->host, link) || explains(isolation, link->peer, link);
}

static bool is_asked(const struct isolation *isolation, const struct suspect *suspect)
{
    return suspect->state == SUSPECT_OPEN && isolation->asked[suspect->host] < ASKED_MOST &&
           (suspect->peer < 0 ||
            (isolation->asked[suspect->peer] < ASKED_MOST && !is_explained(isolation, suspect)));
}

/* How good a partner a host is for a suspect. */
enum fitness {
    FITNESS_NONE,
    FITNESS_LINKS, /* links of it are or were suspects, or it was itself and is cleared */
    FITNESS_MET,   /* it was only ever good, and has met the suspect */
    FITNESS_FRESH, /* and has not */
};

static bool is_in_a_suspected_link(const struct isolation *isolation, const int *links, int host)
{
    return isolation->suspicion->first[host] >= 0 || links[host] > 0;
}

static enum fitness fitness_of(const struct isolation *isolation, const int *links, int host,
                               int suspect)
{
    if (suspicion_covers_host(isolation->suspicion, host))
        return FITNESS_NONE;
    if (is_in_a_suspected_link(isolation, links, host))
        return FITNESS_LINKS;
    return isolation->met[suspect] && isolation->met[suspect][host] ? FITNESS_MET : FITNESS_FRESH;
}

/* The best partner that is free; -1: none. The search begins where the last one ended, so that all
 * good hosts are partners in turn. */
static int partner_find(struct isolation *isolation, const bool *present, const int *links,
                        int suspect)
{
    enum fitness best = FITNESS_NONE;
    int partner = -1;
    for (int i = 0; i < isolation->hosts && best < FITNESS_FRESH; i++) {
        int host = isolation->order[(isolation->at + i) % isolation->hosts];
        if (host == suspect || isolation->busy[host] || !present[host])
            continue;
        enum fitness fitness = fitness_of(isolation, links, host, suspect);
        if (fitness > best) {
            best = fitness;
            partner = host;
        }
    }
    isolation->at = (isolation->at + 1) % isolation->hosts;
    return partner;
}

struct choice_of_pairs {
    struct host_pair *pairs;
    int count;
};

static void pair_take(struct isolation *isolation, struct choice_of_pairs *choice, int a, int b)
{
    isolation->busy[a] = isolation->busy[b] = true;
    isolation->asked[a]++;
    mark_met(isolation, a, b);
    choice->pairs[choice->count++] = (struct host_pair){.a = a, .b = b};
}

/* Takes both switches of a link for this round; false: another link has one of them. */
static bool switches_take(struct isolation *isolation, const struct suspect *link)
{
    const int *switches = fleet_shape(isolation->fleet)->switches;
    int a = switches ? switches[link->host] : -1, b = switches ? switches[link->peer] : -1;
    if (a < 0 || b < 0 || a == b)
        return true;
    if (isolation->crossed[a] || isolation->crossed[b])
        return false;
    return isolation->crossed[a] = isolation->crossed[b] = true;
}

static void choose_links(struct isolation *isolation, const bool *present,
                         struct choice_of_pairs *choice)
{
    for (int i = 0; i < isolation->suspicion->count; i++) {
        const struct suspect *s = &isolation->suspicion->of[i];
        if (s->peer >= 0 && present[s->host] && present[s->peer] && !isolation->busy[s->host] &&
            !isolation->busy[s->peer] && is_asked(isolation, s) && switches_take(isolation, s)) {
            pair_take(isolation, choice, s->host, s->peer);
            isolation->asked[s->peer]++;
        }
    }
}

static void choose_hosts(struct isolation *isolation, const bool *present, const int *links,
                         struct choice_of_pairs *choice)
{
    for (int i = 0; i < isolation->suspicion->count; i++) {
        const struct suspect *s = &isolation->suspicion->of[i];
        if (s->peer >= 0 || !present[s->host] || isolation->busy[s->host] ||
            !is_asked(isolation, s))
            continue;
        int partner = partner_find(isolation, present, links, s->host);
        if (partner >= 0)
            pair_take(isolation, choice, s->host, partner);
    }
}

/* A rail of which no suspect is asked would bring what is known. */
static uint64_t rails_asked(const struct isolation *isolation)
{
    uint64_t rails = 0;
    for (int i = 0; i < isolation->suspicion->count; i++) {
        const struct suspect *s = &isolation->suspicion->of[i];
        if (is_asked(isolation, s))
            rails |= UINT64_C(1) << fleet_series(isolation->fleet, s->series)->rail;
    }
    return rails;
}

int isolation_pairs(struct isolation *isolation, const bool *present, struct host_pair *pairs,
                    uint64_t *rails)
{
    struct choice_of_pairs choice = {.pairs = pairs};
    *rails = rails_asked(isolation);
    int *links = calloc((size_t)isolation->hosts, sizeof *links); /* of each host as a receiver */
    if (!links)
        return -1;
    for (int i = 0; i < isolation->suspicion->count; i++)
        if (isolation->suspicion->of[i].peer >= 0)
            links[isolation->suspicion->of[i].peer]++;
    for (int h = 0; h < isolation->hosts; h++)
        isolation->busy[h] = isolation->crossed[h] = false;
    bool links_first = isolation->round++ % 2 == 0; /* neither waits for all of the other */
    if (links_first)
        choose_links(isolation, present, &choice);
    choose_hosts(isolation, present, links, &choice);
    if (!links_first)
        choose_links(isolation, present, &choice);
    free(links);
    isolation->is_done = choice.count == 0;
    return choice.count;
}

bool isolation_is_done(const struct isolation *isolation)
{
    return isolation->is_done;
}

/* Suspected readings of the link between the same two hosts. */
static int own_readings(const struct isolation *isolation, const struct suspect *link)
{
    int own = 0;
    for (int end = 0; end < 2; end++) {
        int from = end ? link->peer : link->host, to = end ? link->host : link->peer;
        for (int i = isolation->suspicion->first[from]; i >= 0;
             i = isolation->suspicion->of[i].next)
            own += isolation->suspicion->of[i].peer == to &&
                   !suspect_is_failing(&isolation->suspicion->of[i]);
    }
    return own;
}

static void suspect_judge(const struct isolation *isolation, struct suspect *suspect)
{
    int good = suspect->tries - suspect->hits;
    if (suspect->state != SUSPECT_OPEN)
        return;
    if (suspect_is_failing(suspect)) {
        suspect->state = suspect->hits > 0           ? SUSPECT_CONFIRMED
                         : good >= suspect->patience ? SUSPECT_CLEARED
                                                     : SUSPECT_OPEN;
        return;
    }
    double share = suspect->peer < 0
                       ? limits_share(isolation->limits)
                       : limits_reading_share(isolation->limits, own_readings(isolation, suspect));
    double alarms =
        isolation->suspicion->slow * binomial_tail(suspect->tries, suspect->hits, share);
    if (suspect->hits >= HITS_LEAST && alarms <= FALSE_ALARMS / suspect->tries_most)
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
        suspect_witness(suspect, reading->from == suspect->host ? reading->to : reading->from,
                        reading);
    suspect_judge(isolation, suspect);
}

/* Is the host, or the link, suspected of failures on this rail? */
static bool fails(const struct isolation *isolation, int host, int peer, int rail)
{
    const struct suspicion *suspicion = isolation->suspicion;
    for (int i = suspicion->first[host]; i >= 0; i = suspicion->of[i].next) {
        const struct suspect *suspect = &suspicion->of[i];
        if (suspect->peer == peer && suspect_is_failing(suspect) &&
            suspect->state != SUSPECT_CLEARED &&
            fleet_series(isolation->fleet, suspect->series)->rail == rail)
            return true;
    }
    return false;
}

/* Does a reading say something of a suspect? A failure counts for the failures that are suspected on its
 * rail; if there are none (`alone` is false), for all that is suspected there: its job got no further. */
static bool concerns(const struct isolation *isolation, const struct reading *reading, int series,
                     const struct suspect *suspect, bool alone)
{
    bool failed = reading_outcome(reading) != READING_VALUE;
    int rail = fleet_series(isolation->fleet, suspect->series)->rail;
    if (failed && alone && !suspect_is_failing(suspect))
        return false;
    return suspect->series == series || (failed && rail == reading->rail);
}

/* A reading of a suspected host with a partner that is none. */
static bool host_try(struct isolation *isolation, int host, int partner, int series,
                     const struct reading *reading)
{
    struct suspicion *suspicion = isolation->suspicion;
    bool alone = fails(isolation, host, -1, reading->rail), tried = false;
    if (suspicion_covers_host(suspicion, partner))
        return false;
    for (int i = suspicion->first[host]; i >= 0; i = suspicion->of[i].next) {
        struct suspect *s = &suspicion->of[i];
        if (s->peer >= 0 || s->state == SUSPECT_CLEARED ||
            !concerns(isolation, reading, series, s, alone))
            continue;
        suspect_try(isolation, s, reading);
        tried = true;
    }
    return tried;
}

static bool link_try(struct isolation *isolation, const struct reading *reading)
{
    const struct reading back = {.from = reading->to, .to = reading->from};
    const struct reading *ways[] = {reading, &back};
    int series = fleet_from(isolation->fleet, reading);
    bool failed = reading_outcome(reading) != READING_VALUE, tried = false;
    for (int w = 0; w < 2; w++) {
        int from = ways[w]->from, to = ways[w]->to;
        bool alone =
            fails(isolation, from, to, reading->rail) || fails(isolation, to, from, reading->rail);
        for (int i = isolation->suspicion->first[from]; i >= 0;
             i = isolation->suspicion->of[i].next) {
            struct suspect *s = &isolation->suspicion->of[i];
            bool in_order = w == 0 || failed || reading->metric == METRIC_LATENCY;
            if (s->peer != to || !in_order || !concerns(isolation, reading, series, s, alone))
                continue;
            suspect_try(isolation, s, reading);
            tried = true;
        }
    }
    return tried;
}

bool isolation_add(struct isolation *isolation, const struct reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!fleet_has(isolation->fleet, r))
            continue;
        bool sender = host_try(isolation, r->from, r->to, fleet_from(isolation->fleet, r), r);
        bool receiver = host_try(isolation, r->to, r->from, fleet_to(isolation->fleet, r), r);
        bool link = link_try(isolation, r);
        bool known = sender || receiver || link || reading_outcome(r) == READING_VALUE;
        if (!known && !suspicion_covers_host(isolation->suspicion, r->from) &&
            !suspicion_covers_host(isolation->suspicion, r->to) &&
            !(suspicion_add_failure(isolation->suspicion, r) && met_reserve(isolation)))
            return false;
    }
    return true;
}
