/*
 * cut.c - a fleet in two parts, whose pairs across are slow.
 */
#include "accept/judge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

#define SIDE_LEAST    3   /* hosts */
#define CUT_LEAST     0.2 /* excess of the pairs across over those inside */
#define TURNS         60  /* of the power iteration */
#define MOVES_MOST    64  /* of single hosts: the vector leaves few on the wrong side */
#define SHUFFLES_MOST 1999 /* of which none may look like a cut, */
#define CUT_SURE      6 /* or so many deviations: shuffles of few pairs often are the cut itself */
#define METRICS_TRIED 2

/* A pair of hosts: its bandwidth, in both directions, beyond what its slower host explains. */
struct edge {
    int a, b; /* a < b */
    double excess;
};

struct cutting {
    struct edge *edges;
    size_t count;
    int hosts;
    bool *is_met; /* of each host: it has an edge */
    double *vector, *next;
    int *side;
    int sizes[2];    /* of the two sides */
    double *scratch; /* as many as edges */
};

/* ---- pairs ---- */

static int compare_edges(const void *left, const void *right)
{
    const struct edge *x = left, *y = right;
    return COMPARE(x->a, y->a) ?: COMPARE(x->b, y->b);
}

/* The readings of a pair say the same: they become one edge, their mean. */
static void edges_merge(struct cutting *c)
{
    size_t merged = 0;
    if (c->count > 0)
        qsort(c->edges, c->count, sizeof *c->edges, compare_edges);
    for (size_t i = 0, end; i < c->count; i = end) {
        double sum = 0;
        for (end = i; end < c->count && compare_edges(&c->edges[i], &c->edges[end]) == 0; end++)
            sum += c->edges[end].excess;
        c->edges[merged] = c->edges[i];
        c->edges[merged++].excess = sum / (double)(end - i);
    }
    c->count = merged;
}

/* A slow host is slow with all of its partners, so the best of its readings says what it explains;
 * a host of a small part has few partners inside, and its median says nothing. */
static void edges_find(struct cutting *c, const struct fleet *fleet, const struct reading *readings,
                       size_t count, enum metric metric)
{
    c->count = 0;
    for (int h = 0; h < c->hosts; h++)
        c->is_met[h] = false;
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!fleet_has(fleet, r) || reading_outcome(r) != READING_VALUE || r->metric != metric)
            continue;
        double from = fleet_best(fleet, fleet_from(fleet, r), r->from);
        double to = fleet_best(fleet, fleet_to(fleet, r), r->to);
        c->is_met[r->from] = c->is_met[r->to] = true;
        c->edges[c->count++] = (struct edge){.a = r->from < r->to ? r->from : r->to,
                                             .b = r->from < r->to ? r->to : r->from,
                                             .excess = fleet_excess(fleet, r) - fmax(from, to)};
    }
    edges_merge(c);
}

/* Their median is 0 then. */
static void edges_centre(struct cutting *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->scratch[i] = c->edges[i].excess;
    double median = median_of(c->scratch, c->count);
    for (size_t i = 0; i < c->count; i++)
        c->edges[i].excess -= median;
}

/* ---- the search ---- */

/* One step of the power iteration of shift * I - matrix, without the mean. */
static void vector_turn(struct cutting *c, double shift)
{
    double mean = 0, norm = 0;
    for (int h = 0; h < c->hosts; h++)
        c->next[h] = shift * c->vector[h];
    for (size_t i = 0; i < c->count; i++) {
        c->next[c->edges[i].a] -= c->edges[i].excess * c->vector[c->edges[i].b];
        c->next[c->edges[i].b] -= c->edges[i].excess * c->vector[c->edges[i].a];
    }
    for (int h = 0; h < c->hosts; h++)
        mean += c->next[h] / c->hosts;
    for (int h = 0; h < c->hosts; h++)
        norm += (c->next[h] - mean) * (c->next[h] - mean);
    for (int h = 0; h < c->hosts && norm > 0; h++)
        c->vector[h] = (c->next[h] - mean) / sqrt(norm);
}

/* The vector of the least eigenvalue of the matrix of the excesses: hosts whose pairs are slow get
 * different signs. */
static void vector_find(struct cutting *c, uint64_t *random)
{
    double shift = 0;
    for (int h = 0; h < c->hosts; h++)
        c->next[h] = 0;
    for (size_t i = 0; i < c->count; i++) {
        c->next[c->edges[i].a] += fabs(c->edges[i].excess);
        c->next[c->edges[i].b] += fabs(c->edges[i].excess);
    }
    for (int h = 0; h < c->hosts; h++) {
        shift = fmax(shift, c->next[h]);
        c->vector[h] = (double)random_below(random, 2001) - 1000;
    }
    for (int turn = 0; turn < TURNS; turn++)
        vector_turn(c, shift);
}

/* The host whose move to the other side makes the pairs across slower by the most; -1: none does.
 */
static int move_find(struct cutting *c)
{
    double *gain = c->next;
    int best = -1;
    for (int h = 0; h < c->hosts; h++)
        gain[h] = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct edge *edge = &c->edges[i];
        double change = c->side[edge->a] == c->side[edge->b] ? edge->excess : -edge->excess;
        gain[edge->a] += change;
        gain[edge->b] += change;
    }
    for (int h = 0; h < c->hosts; h++)
        if (c->is_met[h] && gain[h] > 1e-9 && c->sizes[c->side[h]] > SIDE_LEAST &&
            (best < 0 || gain[h] > gain[best]))
            best = h;
    return best;
}

static void sides_improve(struct cutting *c)
{
    for (int moves = 0; moves < MOVES_MOST; moves++) {
        int host = move_find(c);
        if (host < 0)
            return;
        c->sizes[c->side[host]]--;
        c->side[host] = 1 - c->side[host];
        c->sizes[c->side[host]]++;
    }
}

enum edge_kind { EDGE_INSIDE_0, EDGE_INSIDE_1, EDGE_ACROSS };

static enum edge_kind kind_of(const struct cutting *c, const struct edge *edge)
{
    int a = c->side[edge->a], b = c->side[edge->b];
    return a != b ? EDGE_ACROSS : (enum edge_kind)a;
}

/* The median of the pairs across, or inside one part; NAN without any. */
static double kind_median(struct cutting *c, enum edge_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (kind_of(c, &c->edges[i]) == kind)
            c->scratch[count++] = c->edges[i].excess;
    return count > 0 ? median_of(c->scratch, count) : NAN;
}

/* By how much the median pair across is slower than those inside either part; NAN: one has none. */
static double median_difference(struct cutting *c)
{
    double across = kind_median(c, EDGE_ACROSS);
    double here = kind_median(c, EDGE_INSIDE_0), there = kind_median(c, EDGE_INSIDE_1);
    return across - (here > there || isnan(here) ? here : there);
}

/* The deviation of pairs from the median of their kind. */
static double kind_deviation(struct cutting *c)
{
    double medians[EDGE_ACROSS + 1];
    for (int k = 0; k <= EDGE_ACROSS; k++)
        medians[k] = kind_median(c, (enum edge_kind)k);
    for (size_t i = 0; i < c->count; i++)
        c->scratch[i] = c->edges[i].excess - medians[kind_of(c, &c->edges[i])];
    return spread_of(c->scratch, c->count).deviation;
}

/* The same of the means, of both parts together. */
static double mean_difference(const struct cutting *c)
{
    double sums[2] = {0, 0}, counts[2] = {0, 0};
    for (size_t i = 0; i < c->count; i++) {
        bool across = kind_of(c, &c->edges[i]) == EDGE_ACROSS;
        sums[across] += c->edges[i].excess;
        counts[across]++;
    }
    return sums[1] / fmax(counts[1], 1) - sums[0] / fmax(counts[0], 1);
}

/* Finds the two sides. False: there are none. */
static bool sides_find(struct cutting *c, uint64_t *random)
{
    vector_find(c, random);
    c->sizes[0] = c->sizes[1] = 0;
    for (int h = 0; h < c->hosts; h++) {
        c->side[h] = c->is_met[h] ? c->vector[h] > 0 : -1;
        if (c->is_met[h])
            c->sizes[c->side[h]]++;
    }
    sides_improve(c);
    return c->sizes[0] >= SIDE_LEAST && c->sizes[1] >= SIDE_LEAST;
}

/* ---- chance ---- */

static void edges_shuffle(struct cutting *c, uint64_t *random)
{
    for (size_t i = c->count; i > 1; i--) {
        size_t other = random_below(random, i);
        double excess = c->edges[i - 1].excess;
        c->edges[i - 1].excess = c->edges[other].excess;
        c->edges[other].excess = excess;
    }
}

/* Does the search find as much in values that are shuffled? The means tell more than the medians,
 * which half of the pairs decide. */
static bool is_by_chance(struct cutting *c, double alarms, uint64_t *random)
{
    double difference = mean_difference(c);
    if (median_difference(c) >= CUT_SURE * kind_deviation(c))
        return false;
    double shuffles = fmin(METRICS_TRIED / alarms - 1, SHUFFLES_MOST);
    for (int turn = 0; turn < shuffles; turn++) {
        edges_shuffle(c, random);
        if (sides_find(c, random) && mean_difference(c) >= difference)
            return true;
    }
    return false;
}

bool cut_find(const struct fleet *fleet, const struct reading *readings, size_t count,
              double alarms, uint64_t seed, int *side)
{
    static const enum metric metrics[METRICS_TRIED] = {METRIC_ALONE, METRIC_BOTH};
    size_t hosts = (size_t)fleet->config.hosts;
    struct arena *memory = arena_create();
    struct cutting c = {.edges = arena_new(memory, count, sizeof *c.edges),
                        .hosts = fleet->config.hosts,
                        .is_met = arena_new(memory, hosts, sizeof *c.is_met),
                        .vector = arena_new(memory, hosts, sizeof *c.vector),
                        .next = arena_new(memory, hosts, sizeof *c.next),
                        .side = arena_new(memory, hosts, sizeof *c.side),
                        .scratch = arena_new(memory, count, sizeof *c.scratch)};
    bool found = false;
    for (int m = 0; m < METRICS_TRIED && !found; m++) {
        edges_find(&c, fleet, readings, count, metrics[m]);
        edges_centre(&c);
        bool two = sides_find(&c, &seed);
        for (size_t h = 0; h < hosts; h++)
            side[h] = c.side[h];
        found = two && median_difference(&c) >= CUT_LEAST && !is_by_chance(&c, alarms, &seed);
    }
    arena_free(memory);
    return found;
}
