/*
 * cut.c - a fleet in two parts, whose pairs across are slow.
 */
#include "accept/judge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

#define SIDE_LEAST 3   /* hosts */
#define CUT_LEAST  0.1 /* excess of the mean pair across over that inside */
#define TURNS      60  /* of the power iteration */
#define MOVES_MOST 64  /* of single hosts: the vector leaves few on the wrong side */

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
    double *best;    /* of each host: the least excess of its transfers */
};

/* `count`: edges at most. */
static struct cutting cutting_make(struct arena *memory, size_t count, int hosts)
{
    size_t host_count = (size_t)hosts;
    return (struct cutting){.edges = arena_new(memory, count, sizeof(struct edge)),
                            .hosts = hosts,
                            .is_met = arena_new(memory, host_count, sizeof(bool)),
                            .vector = arena_new(memory, host_count, sizeof(double)),
                            .next = arena_new(memory, host_count, sizeof(double)),
                            .side = arena_new(memory, host_count, sizeof(int)),
                            .scratch = arena_new(memory, count, sizeof(double)),
                            .best = arena_new(memory, host_count, sizeof(double))};
}

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

static void edge_add(struct cutting *c, int from, int to, double excess)
{
    c->is_met[from] = c->is_met[to] = true;
    c->edges[c->count++] =
        (struct edge){.a = from < to ? from : to, .b = from < to ? to : from, .excess = excess};
}

/* A slow host is slow with all of its partners, so the best of its readings says what it explains;
 * a host of a small part has few partners inside, and its median says nothing. */
static void edges_find(struct cutting *c, const struct fleet *fleet, const struct reading *readings,
                       size_t count, int rail)
{
    for (size_t i = 0; i < count; i++) {
        const struct reading *r = &readings[i];
        if (!fleet_has(fleet, r) || reading_outcome(r) != READING_VALUE || r->rail != rail ||
            (r->metric != METRIC_ALONE && r->metric != METRIC_BOTH))
            continue;
        double from = fleet_best(fleet, fleet_from(fleet, r), r->from);
        double to = fleet_best(fleet, fleet_to(fleet, r), r->to);
        edge_add(c, r->from, r->to, fleet_excess(fleet, r) - fmax(from, to));
    }
    edges_merge(c);
}

/* NAN: it was not measured. */
static double transfer_excess(const struct exchange_transfer *transfer)
{
    return transfer->few > 0 && transfer->many > 0 ? log(transfer->few / transfer->many) : NAN;
}

/* The same of transfers. */
static void transfers_find(struct cutting *c, const struct exchange_transfer *transfers,
                           size_t count)
{
    for (int h = 0; h < c->hosts; h++)
        c->best[h] = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double excess = transfer_excess(&transfers[i]);
        double *from = &c->best[transfers[i].from], *to = &c->best[transfers[i].to];
        *from = fmin(*from, excess); /* which takes a number for a NAN */
        *to = fmin(*to, excess);
    }
    for (size_t i = 0; i < count; i++) {
        const struct exchange_transfer *t = &transfers[i];
        double excess = transfer_excess(t);
        if (!isnan(excess))
            edge_add(c, t->from, t->to, excess - fmax(c->best[t->from], c->best[t->to]));
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

/* By how much the mean pair across is slower than the mean one inside the parts. */
static double mean_difference(const struct cutting *c)
{
    double sums[2] = {0, 0}, counts[2] = {0, 0};
    for (size_t i = 0; i < c->count; i++) {
        bool across = c->side[c->edges[i].a] != c->side[c->edges[i].b];
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

/* The excess of the mean pair between the two parts that the edges show best; 0: there are none. */
static double parts_find(struct cutting *c, uint64_t *random, int *side)
{
    edges_centre(c);
    bool two = sides_find(c, random);
    for (int h = 0; h < c->hosts; h++)
        side[h] = c->side[h];
    return two ? mean_difference(c) : 0;
}

bool cut_find(const struct fleet *fleet, const struct reading *readings, size_t count, int rail,
              uint64_t seed, int *side)
{
    struct arena *memory = arena_create();
    struct cutting c = cutting_make(memory, count, fleet->config.hosts);
    edges_find(&c, fleet, readings, count, rail);
    bool found = parts_find(&c, &seed, side) >= CUT_LEAST;
    arena_free(memory);
    return found;
}

bool cut_of_transfers(const struct exchange_transfer *transfers, size_t count, int hosts,
                      uint64_t seed, int *side)
{
    struct arena *memory = arena_create();
    struct cutting c = cutting_make(memory, count, hosts);
    transfers_find(&c, transfers, count);
    bool found = parts_find(&c, &seed, side) >= CUT_LEAST;
    arena_free(memory);
    return found;
}

int cut_pairs(const int *hosts, int count, const int *side, bool across, uint64_t *random,
              struct host_pair *pairs)
{
    int *order = new_array((size_t)count, sizeof *order);
    int *of[2] = {new_array((size_t)count, sizeof(int)), new_array((size_t)count, sizeof(int))};
    int sizes[2] = {0, 0}, made = 0;
    random_shuffle(order, count, random);
    for (int i = 0; i < count; i++) {
        int host = hosts[order[i]], part = side[host];
        if (part >= 0)
            of[part][sizes[part]++] = host;
    }
    int small = sizes[1] < sizes[0], inside = sizes[0] / 2 + sizes[1] / 2;
    int most = sizes[small] < inside ? sizes[small] : inside;
    for (; across && made < most; made++)
        pairs[made] = (struct host_pair){.a = of[0][made], .b = of[1][made]};
    for (int p = 0; p < 2 && !across; p++) {
        int part = p == 0 ? small : !small;
        for (int i = 0; i + 1 < sizes[part] && made < most; i += 2)
            pairs[made++] = (struct host_pair){.a = of[part][i], .b = of[part][i + 1]};
    }
    free(order);
    free(of[0]);
    free(of[1]);
    return made;
}

double cut_median(const struct host_pair *pairs, const double *rates, int count, const int *side)
{
    double *kind = new_array((size_t)count, sizeof *kind), least = INFINITY;
    for (int part = 0; part < 2; part++) {
        size_t size = 0;
        for (int i = 0; i < count; i++)
            if (side[pairs[i].a] == part)
                kind[size++] = rates[i];
        if (size > 0)
            least = fmin(least, median_of(kind, size));
    }
    free(kind);
    return count > 0 ? least : 0;
}
