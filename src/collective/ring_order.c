/*
 * ring_order.c - a short ring.
 */
#include "collective/collective.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define PASSES_MOST 16 /* of 2-opt: each looks at all pairs of edges */

static uint64_t between(const struct rank_distances *distances, int a, int b)
{
    return a == b ? 0 : distances->between(distances->argument, a, b);
}

uint64_t ring_length(const struct rank_distances *distances, const int *order, int ranks)
{
    uint64_t length = 0;
    for (int i = 0; i < ranks; i++)
        length += between(distances, order[i], order[(i + 1) % ranks]);
    return length;
}

/* ---- exactly ---- */

/* best[set * n + last]: the shortest way from the last rank through the others of a set to `last`.
 * n = ranks - 1, so that the ring is closed at that rank. */
struct held_karp {
    const struct rank_distances *distances;
    int n;
    uint64_t *best;
    int *before; /* on that way */
};

static void ways_extend(struct held_karp *ways, unsigned set)
{
    int n = ways->n;
    for (int last = 0; last < n; last++) {
        unsigned rest = set & ~(1u << last);
        size_t at = (size_t)set * (size_t)n + (size_t)last;
        ways->best[at] = UINT64_MAX;
        if (!(set >> last & 1))
            continue;
        if (rest == 0)
            ways->best[at] = between(ways->distances, n, last);
        for (int middle = 0; middle < n; middle++) {
            if (!(rest >> middle & 1))
                continue;
            uint64_t length = ways->best[(size_t)rest * (size_t)n + (size_t)middle] +
                              between(ways->distances, middle, last);
            if (length < ways->best[at]) {
                ways->best[at] = length;
                ways->before[at] = middle;
            }
        }
    }
}

static bool order_exact(const struct rank_distances *distances, int ranks, int *order)
{
    int n = ranks - 1;
    size_t sets = (size_t)1 << n;
    struct held_karp ways = {.distances = distances,
                             .n = n,
                             .best = malloc(sets * (size_t)n * sizeof *ways.best),
                             .before = calloc(sets * (size_t)n, sizeof *ways.before)};
    bool good = ways.best && ways.before;
    for (unsigned set = 1; good && set < sets; set++)
        ways_extend(&ways, set);
    int last = 0;
    for (int r = 1; good && r < n; r++) {
        size_t all = (sets - 1) * (size_t)n;
        if (ways.best[all + (size_t)r] + between(distances, r, n) <
            ways.best[all + (size_t)last] + between(distances, last, n))
            last = r;
    }
    unsigned set = (unsigned)sets - 1;
    order[0] = n;
    for (int i = n; good && i > 0; i--) {
        order[i] = last;
        unsigned rest = set & ~(1u << last);
        last = ways.before[(size_t)set * (size_t)n + (size_t)last];
        set = rest;
    }
    free(ways.best);
    free(ways.before);
    return good;
}

/* ---- by search ---- */

/* The nearest rank is next; of equally near ranks, the one with the smallest number. */
static bool order_nearest(const struct rank_distances *distances, int ranks, int *order)
{
    bool *used = calloc((size_t)ranks, sizeof *used);
    if (!used)
        return false;
    used[0] = true;
    order[0] = 0;
    for (int i = 1; i < ranks; i++) {
        int next = -1;
        uint64_t least = UINT64_MAX;
        for (int r = 1; r < ranks; r++) {
            uint64_t distance = used[r] ? UINT64_MAX : between(distances, order[i - 1], r);
            if (distance < least) {
                least = distance;
                next = r;
            }
        }
        used[next] = true;
        order[i] = next;
    }
    free(used);
    return true;
}

static void order_reverse(int *order, int first, int last)
{
    for (; first < last; first++, last--) {
        int kept = order[first];
        order[first] = order[last];
        order[last] = kept;
    }
}

/* Replaces edges (i, i+1) and (j, j+1) by (i, j) and (i+1, j+1), where those are shorter. */
static bool order_exchange(const struct rank_distances *distances, int ranks, int *order)
{
    bool changed = false;
    for (int i = 0; i < ranks - 2; i++)
        for (int j = i + 2; j < ranks - (i == 0); j++) {
            int a = order[i], b = order[i + 1], c = order[j], d = order[(j + 1) % ranks];
            if (between(distances, a, c) + between(distances, b, d) <
                between(distances, a, b) + between(distances, c, d)) {
                order_reverse(order, i + 1, j);
                changed = true;
            }
        }
    return changed;
}

/* ---- the shortest of them ---- */

static void order_keep(const struct rank_distances *distances, int ranks, const int *found,
                       int *order)
{
    if (ring_length(distances, found, ranks) < ring_length(distances, order, ranks))
        memcpy(order, found, (size_t)ranks * sizeof *order);
}

/* The same ring from rank 0 on, towards the smaller of its neighbours. */
static void order_turn(int ranks, const int *found, int *order)
{
    int first = 0;
    while (found[first] != 0)
        first++;
    bool forwards = found[(first + 1) % ranks] <= found[(first + ranks - 1) % ranks];
    for (int i = 0; i < ranks; i++)
        order[i] = found[(first + (forwards ? i : ranks - i)) % ranks];
}

enum status ring_order_find(const struct rank_distances *distances, const int *given, int ranks,
                            int *order)
{
    int *found = malloc((size_t)ranks * sizeof *found),
        *best = malloc((size_t)ranks * sizeof *best);
    bool good = found && best;
    for (int r = 0; good && r < ranks; r++)
        best[r] = r;
    if (good && given)
        order_keep(distances, ranks, given, best);
    if (good && ranks > 3 && ranks <= EXACT_RANKS_MOST) {
        good = order_exact(distances, ranks, found);
    } else if (good && ranks > 3 && ranks <= SEARCH_RANKS_MOST) {
        good = order_nearest(distances, ranks, found);
        for (int pass = 0; good && pass < PASSES_MOST; pass++)
            if (!order_exchange(distances, ranks, found))
                break;
    } else if (good) {
        memcpy(found, best, (size_t)ranks * sizeof *found);
    }
    if (good) {
        order_keep(distances, ranks, found, best);
        order_turn(ranks, best, order);
    }
    free(found);
    free(best);
    return good ? STATUS_OK : fail(STATUS_ERROR, "out of memory for a ring of %d ranks", ranks);
}

int *ring_places_find(const struct rank_distances *distances, int ranks,
                      int (*compare)(const void *a, const void *b, void *argument), void *argument)
{
    size_t count = (size_t)ranks;
    int *given = malloc(count * sizeof *given), *order = malloc(count * sizeof *order);
    int *places = malloc(count * sizeof *places);
    bool found = given && order && places;
    for (int r = 0; found && r < ranks; r++)
        given[r] = r;
    if (found) {
        qsort_r(given, count, sizeof *given, compare, argument);
        found = ring_order_find(distances, given, ranks, order) == STATUS_OK;
    } else {
        fail(STATUS_ERROR, "out of memory for a ring of %d ranks", ranks);
    }
    for (int i = 0; found && i < ranks; i++)
        places[order[i]] = i;
    free(given);
    free(order);
    if (found)
        return places;
    free(places);
    return NULL;
}
