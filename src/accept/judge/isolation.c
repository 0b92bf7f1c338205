/*
 * isolation.c - which hosts meet: all of them in rounds, by the circle method over shuffled
 * hosts; then suspects, and what these meetings bring.
 */
#include "accept/judge/judge.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

#define PARTNERS_LEAST 7

struct rounds {
    struct arena *memory; /* of all that follows */
    int hosts, count;
    int turning;  /* places on the circle that turn: an odd number; the last host stays */
    int *host;    /* [turning + 1]: of each place; `hosts` itself: nobody */
    int *place;   /* of each host */
    int *turn;    /* of each round of the plan: its number on the circle */
    bool *chosen; /* [turning]: turns of the plan */
    int *left;    /* hosts whose partners are absent */
};

int rounds_all(int hosts)
{
    return hosts < 2 ? 0 : hosts - 1 + hosts % 2;
}

int rounds_enough(int hosts)
{
    int partners = log2_up(hosts);
    if (partners < PARTNERS_LEAST)
        partners = PARTNERS_LEAST;
    int rounds = partners + hosts % 2;
    return rounds < rounds_all(hosts) ? rounds : rounds_all(hosts);
}

struct rounds *rounds_plan(int hosts, int count, uint64_t seed)
{
    int places = hosts + hosts % 2, turning = places - 1;
    struct arena *memory = arena_create();
    struct rounds *rounds = arena_new(memory, 1, sizeof *rounds);
    *rounds = (struct rounds){
        .memory = memory,
        .hosts = hosts,
        .count = count,
        .turning = turning,
        .host = arena_new(memory, (size_t)places, sizeof *rounds->host),
        .place = arena_new(memory, (size_t)places, sizeof *rounds->place),
        .turn = arena_new(memory, (size_t)turning, sizeof *rounds->turn),
        .chosen = arena_new(memory, (size_t)turning, sizeof *rounds->chosen),
        .left = arena_new(memory, (size_t)hosts, sizeof *rounds->left),
    };
    random_shuffle(rounds->host, places, &seed);
    random_shuffle(rounds->turn, turning, &seed);
    for (int p = 0; p < places; p++)
        rounds->place[rounds->host[p]] = p;
    for (int r = 0; r < count; r++)
        rounds->chosen[rounds->turn[r]] = true;
    return rounds;
}

void rounds_free(struct rounds *rounds)
{
    if (rounds)
        arena_free(rounds->memory);
}

/* The turn of the circle in which two places meet. */
static int turn_of(const struct rounds *rounds, int a, int b)
{
    int stays = rounds->turning;
    if (a == stays)
        a = b;
    if (b == stays)
        b = a;
    return (int)(((long)a + b) % rounds->turning);
}

/* The place that a place meets in a turn. */
static int place_opposite(const struct rounds *rounds, int place, int turn)
{
    int turning = rounds->turning;
    if (place == turning) /* 2 * i = turn, where an odd number of places turns */
        return (turn % 2 ? turn + turning : turn) / 2 % turning;
    int other = (turn - place % turning + turning) % turning;
    return other == place ? turning : other;
}

static bool is_present(const struct rounds *rounds, int host, const bool *present)
{
    return host < rounds->hosts && present[host];
}

/* Pairs hosts that are left over. */
static int pair_left(const struct rounds *rounds, int left, struct host_pair *pairs)
{
    int count = 0;
    for (int i = 0; i < left; i++) {
        int a = rounds->left[i];
        for (int j = i + 1; a >= 0 && j < left; j++) {
            int b = rounds->left[j];
            if (b < 0 || rounds->chosen[turn_of(rounds, rounds->place[a], rounds->place[b])])
                continue;
            pairs[count++] = (struct host_pair){.a = a, .b = b};
            rounds->left[j] = a = -1;
        }
    }
    return count;
}

int rounds_pairs(const struct rounds *rounds, int round, const bool *present,
                 struct host_pair *pairs)
{
    int count = 0, left = 0;
    for (int p = 0; p <= rounds->turning; p++) {
        int opposite = place_opposite(rounds, p, rounds->turn[round]);
        int a = rounds->host[p], b = rounds->host[opposite];
        if (!is_present(rounds, a, present))
            continue;
        if (!is_present(rounds, b, present))
            rounds->left[left++] = a;
        else if (p < opposite)
            pairs[count++] = (struct host_pair){.a = a, .b = b};
    }
    return count + pair_left(rounds, left, pairs + count);
}

/*
 * Suspects are measured again.
 */
#define HITS_LEAST 2
#define ASKED_MOST 16 /* rounds of one host */

struct isolation {
    struct arena *memory; /* of all that follows */
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
    int *links;          /* [hosts] in this round: suspected links that it is the receiver of */
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

static void met_reserve(struct isolation *isolation)
{
    for (int i = 0; i < isolation->suspicion->count; i++) {
        const struct suspect *suspect = &isolation->suspicion->items[i];
        if (suspect->peer < 0 && !isolation->met[suspect->host])
            isolation->met[suspect->host] =
                arena_new(isolation->memory, (size_t)isolation->hosts, 1);
    }
}

struct isolation *isolation_create(const struct fleet *fleet, const struct limits *limits,
                                   const struct reading *readings, size_t count, uint64_t seed)
{
    struct arena *memory = arena_create();
    struct isolation *isolation = arena_new(memory, 1, sizeof *isolation);
    int hosts = fleet_shape(fleet)->hosts;
    *isolation = (struct isolation){
        .memory = memory,
        .fleet = fleet,
        .limits = limits,
        .suspicion = suspicion_create(fleet, limits, readings, count),
        .hosts = hosts,
        .order = arena_new(memory, (size_t)hosts, sizeof *isolation->order),
        .asked = arena_new(memory, (size_t)hosts, sizeof *isolation->asked),
        .met = arena_new(memory, (size_t)hosts, sizeof *isolation->met),
        .busy = arena_new(memory, (size_t)hosts, sizeof *isolation->busy),
        .crossed = arena_new(memory, (size_t)hosts, sizeof *isolation->crossed),
        .links = arena_new(memory, (size_t)hosts, sizeof *isolation->links),
    };
    met_reserve(isolation);
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
    suspicion_free(isolation->suspicion);
    arena_free(isolation->memory);
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
    for (int i = suspicion->first[host]; i >= 0; i = suspicion->items[i].next) {
        const struct suspect *end = &suspicion->items[i];
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

static enum fitness fitness_of(const struct isolation *isolation, int host, int suspect)
{
    if (suspicion_covers_host(isolation->suspicion, host))
        return FITNESS_NONE;
    if (isolation->suspicion->first[host] >= 0 || isolation->links[host] > 0)
        return FITNESS_LINKS;
    return isolation->met[suspect] && isolation->met[suspect][host] ? FITNESS_MET : FITNESS_FRESH;
}

/* The best partner that is free; -1: none. The search begins where the last one ended, so that all
 * good hosts are partners in turn. */
static int partner_find(struct isolation *isolation, const bool *present, int suspect)
{
    enum fitness best = FITNESS_NONE;
    int partner = -1;
    for (int i = 0; i < isolation->hosts && best < FITNESS_FRESH; i++) {
        int host = isolation->order[(isolation->at + i) % isolation->hosts];
        if (host == suspect || isolation->busy[host] || !present[host])
            continue;
        enum fitness fitness = fitness_of(isolation, host, suspect);
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
        const struct suspect *s = &isolation->suspicion->items[i];
        if (s->peer >= 0 && present[s->host] && present[s->peer] && !isolation->busy[s->host] &&
            !isolation->busy[s->peer] && is_asked(isolation, s) && switches_take(isolation, s)) {
            pair_take(isolation, choice, s->host, s->peer);
            isolation->asked[s->peer]++;
        }
    }
}

static void choose_hosts(struct isolation *isolation, const bool *present,
                         struct choice_of_pairs *choice)
{
    for (int i = 0; i < isolation->suspicion->count; i++) {
        const struct suspect *s = &isolation->suspicion->items[i];
        if (s->peer >= 0 || !present[s->host] || isolation->busy[s->host] ||
            !is_asked(isolation, s))
            continue;
        int partner = partner_find(isolation, present, s->host);
        if (partner >= 0)
            pair_take(isolation, choice, s->host, partner);
    }
}

/* A rail of which no suspect is asked would bring what is known. */
static uint64_t rails_asked(const struct isolation *isolation)
{
    uint64_t rails = 0;
    for (int i = 0; i < isolation->suspicion->count; i++) {
        const struct suspect *s = &isolation->suspicion->items[i];
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
    for (int h = 0; h < isolation->hosts; h++)
        isolation->links[h] = isolation->busy[h] = isolation->crossed[h] = 0;
    for (int i = 0; i < isolation->suspicion->count; i++)
        if (isolation->suspicion->items[i].peer >= 0)
            isolation->links[isolation->suspicion->items[i].peer]++;
    bool links_first = isolation->round++ % 2 == 0; /* neither waits for all of the other */
    if (links_first)
        choose_links(isolation, present, &choice);
    choose_hosts(isolation, present, &choice);
    if (!links_first)
        choose_links(isolation, present, &choice);
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
             i = isolation->suspicion->items[i].next)
            own += isolation->suspicion->items[i].peer == to &&
                   !suspect_is_failing(&isolation->suspicion->items[i]);
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
    for (int i = suspicion->first[host]; i >= 0; i = suspicion->items[i].next) {
        const struct suspect *suspect = &suspicion->items[i];
        if (suspect->peer == peer && suspect_is_failing(suspect) &&
            suspect->state != SUSPECT_CLEARED &&
            fleet_series(isolation->fleet, suspect->series)->rail == rail)
            return true;
    }
    return false;
}

/* Does a reading say something of a suspect? A failure counts for the failures that are suspected
 * on its rail; if there are none (`alone` is false), for all that is suspected there: its job got
 * no further. */
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
    for (int i = suspicion->first[host]; i >= 0; i = suspicion->items[i].next) {
        struct suspect *s = &suspicion->items[i];
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
             i = isolation->suspicion->items[i].next) {
            struct suspect *s = &isolation->suspicion->items[i];
            bool in_order = w == 0 || failed || reading->metric == METRIC_LATENCY;
            if (s->peer != to || !in_order || !concerns(isolation, reading, series, s, alone))
                continue;
            suspect_try(isolation, s, reading);
            tried = true;
        }
    }
    return tried;
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
        if (!known && !suspicion_covers_host(isolation->suspicion, r->from) &&
            !suspicion_covers_host(isolation->suspicion, r->to)) {
            suspicion_add_failure(isolation->suspicion, r);
            met_reserve(isolation);
        }
    }
}
