/*
 * cut.c - a fleet in two parts, whose pairs across are slow.
 */
#include "accept/judge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

#define SIDE_LEAST    2    /* hosts: one alone is a slow host */
#define CUT_LEAST     0.2  /* excess of the pairs across over those inside */
#define NOISE_FLOOR   0.02 /* excess */
#define PAIR_READS    2    /* of a pair, one in each direction */
#define TURNS         60   /* of the power iteration */
#define METRICS_TRIED 2
#define MEDIAN_ERROR  1.2533 /* as in fleet.c */

/* A bandwidth between two hosts, beside what its slower end explains. */
struct edge {
    int a, b;
    double excess;
};

struct cutting {
    struct arena *memory;
    struct edge *edges;
    size_t count;
    int hosts;
    double *vector, *next;
    int *side;       /* the caller's */
    int sizes[2];    /* of the two sides */
    double *scratch; /* as many as edges */
    double *best;    /* of each cell of the fleet: the least excess of its readings */
};

static bool is_edge(const struct fleet *fleet, const struct reading *r, enum metric metric)
{
    return fleet_has(fleet, r) && reading_outcome(r) == READING_VALUE && r->metric == metric;
}

/* The pairs of a metric. A slow host is slow with all of its partners, so the best of its readings
 * says what it explains; a host of a small part has few partners inside, and its median none. */
static void edges_find(struct cutting *c, const struct fleet *fleet, const struct reading *readings,
                       size_t count, enum metric metric)
{
    for (int cell = 0; cell < fleet->cell_count; cell++)
        c->best[cell] = INFINITY;
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!is_edge(fleet, r, metric))
            continue;
        double *from = &c->best[fleet_from(fleet, r) * c->hosts + r->from];
        double *to = &c->best[fleet_to(fleet, r) * c->hosts + r->to];
        *from = fmin(*from, fleet_excess(fleet, r));
        *to = fmin(*to, fleet_excess(fleet, r));
    }
    c->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!is_edge(fleet, r, metric))
            continue;
        double from = c->best[fleet_from(fleet, r) * c->hosts + r->from];
        double to = c->best[fleet_to(fleet, r) * c->hosts + r->to];
        c->edges[c->count++] = (struct edge){
            .a = r->from, .b = r->to, .excess = fleet_excess(fleet, r) - fmax(from, to)};
    }
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

/* The vector of the least eigenvalue of the matrix of the excesses, without its mean: hosts whose
 * pairs are slow get different signs. By power iteration of shift * I - matrix. */
static void vector_find(struct cutting *c, uint64_t seed)
{
    double shift = 0;
    double *sums = arena_new(c->memory, (size_t)c->hosts, sizeof *sums);
    for (size_t i = 0; i < c->count; i++) {
        sums[c->edges[i].a] += fabs(c->edges[i].excess);
        sums[c->edges[i].b] += fabs(c->edges[i].excess);
    }
    for (int h = 0; h < c->hosts; h++) {
        shift = fmax(shift, sums[h]);
        c->vector[h] = (double)random_below(&seed, 2001) - 1000;
    }
    for (int turn = 0; turn < TURNS; turn++) {
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
}

/* Moves hosts to the other side while that makes the pairs across slower. */
static void sides_improve(struct cutting *c)
{
    double *gain = c->next;
    for (int moves = 0; moves < c->hosts; moves++) {
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
            if (gain[h] > 1e-9 && (best < 0 || gain[h] > gain[best]) &&
                c->sizes[c->side[h]] > SIDE_LEAST)
                best = h;
        if (best < 0)
            return;
        c->sizes[c->side[best]]--;
        c->side[best] = 1 - c->side[best];
        c->sizes[c->side[best]]++;
    }
}

/* The readings across, or inside one part: their median, and their deviation from it. */
enum edge_kind { EDGE_INSIDE_0, EDGE_INSIDE_1, EDGE_ACROSS };

static struct spread kind_spread(struct cutting *c, enum edge_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++) {
        int a = c->side[c->edges[i].a], b = c->side[c->edges[i].b];
        if ((a != b ? EDGE_ACROSS : (enum edge_kind)a) == kind)
            c->scratch[count++] = c->edges[i].excess;
    }
    return spread_of(c->scratch, count);
}

/* Are the pairs across slower than those inside each part, beyond chance, although the best of
 * 2^(hosts - 1) partitions was chosen? */
static bool is_beyond_chance(struct cutting *c)
{
    struct spread across = kind_spread(c, EDGE_ACROSS);
    struct spread inside[] = {kind_spread(c, EDGE_INSIDE_0), kind_spread(c, EDGE_INSIDE_1)};
    const struct spread *larger = &inside[inside[1].count > inside[0].count];
    double pairs = (double)(inside[0].count + inside[1].count) / PAIR_READS;
    double pairs_across = (double)across.count / PAIR_READS;
    if (across.count == 0 || inside[0].count == 0 || inside[1].count == 0)
        return false;
    double difference = across.median - fmax(inside[0].median, inside[1].median);
    double noise = fmax(NOISE_FLOOR, larger->deviation);
    double error = MEDIAN_ERROR * noise * sqrt(1 / pairs_across + 1 / pairs);
    double bound = sqrt(2 * (c->hosts * M_LN2 - log(FALSE_ALARMS / METRICS_TRIED)));
    return difference >= CUT_LEAST && difference >= bound * error;
}

static bool sides_find(struct cutting *c, uint64_t seed)
{
    edges_centre(c);
    vector_find(c, seed);
    c->sizes[0] = c->sizes[1] = 0;
    for (int h = 0; h < c->hosts; h++)
        c->sizes[c->side[h] = c->vector[h] > 0]++;
    sides_improve(c);
    return c->sizes[0] >= SIDE_LEAST && c->sizes[1] >= SIDE_LEAST && is_beyond_chance(c);
}

bool cut_find(const struct fleet *fleet, const struct reading *readings, size_t count,
              uint64_t seed, int *side)
{
    size_t hosts = (size_t)fleet->config.hosts;
    struct arena *memory = arena_create();
    struct cutting c = {.memory = memory,
                        .edges = arena_new(memory, count, sizeof *c.edges),
                        .hosts = fleet->config.hosts,
                        .vector = arena_new(memory, hosts, sizeof *c.vector),
                        .next = arena_new(memory, hosts, sizeof *c.next),
                        .side = side,
                        .scratch = arena_new(memory, count, sizeof *c.scratch),
                        .best = arena_new(memory, (size_t)fleet->cell_count, sizeof *c.best)};
    static const enum metric metrics[METRICS_TRIED] = {METRIC_ALONE, METRIC_BOTH};
    bool found = false;
    for (int m = 0; m < METRICS_TRIED && !found; m++) {
        edges_find(&c, fleet, readings, count, metrics[m]);
        found = c.count > 0 && c.hosts >= 2 * SIDE_LEAST && sides_find(&c, seed);
    }
    arena_free(memory);
    return found;
}
