/*
 * tuned.c - which algorithm was the fastest where it was measured, and which is to be taken
 * elsewhere.
 */
#include "collective/schedule/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"

#define RANKS_NEAR 4 /* numbers of ranks that count for another one */
#define CORNERS    (2 * RANKS_NEAR)
/* Algorithms that are compared, at most. Cells that are near have nearly the same. */
#define MERITS_MOST (4 * TUNED_MOST)
/* An algorithm that a cell lacks is taken for so many times as slow as its best. Most were left out
 * since their trend or a model puts them further behind than this; others refused, or were
 * wrong. */
#define LACKING 3.0

void tuned_free(struct tuned *tuned)
{
    if (!tuned)
        return;
    arena_free(tuned->arena);
    free(tuned);
}

void tuned_seal(struct tuned *tuned)
{
    uint64_t hash = HASH_BEGIN;
    for (size_t c = 0; c < tuned->count; c++) {
        const struct tuned_cell *cell = &tuned->cells[c];
        hash = hash_text(hash, cell->collective->name);
        hash = hash_bytes(hash, &cell->ranks, sizeof cell->ranks);
        hash = hash_bytes(hash, &cell->bytes, sizeof cell->bytes);
        for (int a = 0; a < cell->count; a++) {
            hash = hash_text(hash, cell->algorithms[a].text);
            hash = hash_bytes(hash, &cell->algorithms[a].time, sizeof(double));
        }
    }
    tuned->fingerprint = hash;
}

/* A cell that counts, and how much. */
struct corner {
    const struct tuned_cell *cell;
    double weight;
};

/* The share of the neighbour above `at`; the other one is below. */
static double share_above(double below, double at, double above)
{
    double span = log2(above + 1) - log2(below + 1);
    return span > 0 ? (log2(at + 1) - log2(below + 1)) / span : 0;
}

static bool is_power_of_two(int ranks)
{
    return (ranks & (ranks - 1)) == 0;
}

/* A number of ranks that counts, and how much. */
struct near_ranks {
    int ranks;
    double weight;
};

/* The numbers of ranks next to `ranks` of which something was measured, and which are powers of two
 * or are not: the largest that is not above, and the smallest that is not below. Where there is
 * none on one side, both are the other. False: there is none at all. */
static bool ranks_next(const struct tuned *tuned, const struct collective *collective, int ranks,
                       bool powers, int around[2])
{
    around[0] = around[1] = 0;
    for (size_t c = 0; c < tuned->count; c++) {
        const struct tuned_cell *cell = &tuned->cells[c];
        if (cell->collective != collective || is_power_of_two(cell->ranks) != powers)
            continue;
        if (cell->ranks <= ranks && cell->ranks > around[0])
            around[0] = cell->ranks;
        if (cell->ranks >= ranks && (around[1] == 0 || cell->ranks < around[1]))
            around[1] = cell->ranks;
    }
    if (around[0] == 0)
        around[0] = around[1];
    if (around[1] == 0)
        around[1] = around[0];
    return around[0] > 0;
}

/* Returns how many were added: one if both are the same. */
static int near_add(struct near_ranks *near, int ranks, const int around[2], double weight)
{
    double above = share_above(around[0], ranks, around[1]);
    near[0] = (struct near_ranks){around[0], weight * (1 - above)};
    near[1] = (struct near_ranks){around[1], weight * above};
    return around[0] == around[1] ? 1 : 2;
}

/* Many algorithms fold ranks that are too many for a power of two, which costs them much; so a
 * power of two is compared with powers of two. Whether any other number is nearer to them or to its
 * own kind depends on the algorithm and the machine, so what is next to it of both kinds counts,
 * half each; not if it was measured itself. Returns how many; 0: the collective was not
 * measured. */
static int ranks_near(const struct tuned *tuned, const struct collective *collective, int ranks,
                      struct near_ranks near[RANKS_NEAR])
{
    int alike[2], unlike[2], count = 0;
    bool power = is_power_of_two(ranks);
    bool has_alike = ranks_next(tuned, collective, ranks, power, alike);
    bool has_unlike = ranks_next(tuned, collective, ranks, !power, unlike);
    bool both = has_alike && has_unlike && !power && alike[0] != ranks;
    if (has_alike)
        count = near_add(near, ranks, alike, both ? 0.5 : 1);
    if (has_unlike && (both || !has_alike))
        count += near_add(near + count, ranks, unlike, both ? 0.5 : 1);
    return count;
}

/* Likewise the cells next to a size. */
static void cells_around(const struct tuned *tuned, const struct collective *collective, int ranks,
                         size_t bytes, const struct tuned_cell *around[2])
{
    around[0] = around[1] = NULL;
    for (size_t c = 0; c < tuned->count; c++) {
        const struct tuned_cell *cell = &tuned->cells[c];
        if (cell->collective != collective || cell->ranks != ranks)
            continue;
        if (cell->bytes <= bytes && (!around[0] || cell->bytes > around[0]->bytes))
            around[0] = cell;
        if (cell->bytes >= bytes && (!around[1] || cell->bytes < around[1]->bytes))
            around[1] = cell;
    }
    if (!around[0])
        around[0] = around[1];
    if (!around[1])
        around[1] = around[0];
}

/* Returns how many; 0: the collective was not measured. */
static int corners_find(const struct tuned *tuned, const struct problem *problem, size_t bytes,
                        struct corner corners[CORNERS])
{
    struct near_ranks near[RANKS_NEAR];
    int nears = ranks_near(tuned, problem->collective, problem->ranks, near), count = 0;
    for (int r = 0; r < nears; r++) {
        const struct tuned_cell *cells[2];
        cells_around(tuned, problem->collective, near[r].ranks, bytes, cells);
        double larger =
            share_above((double)cells[0]->bytes, (double)bytes, (double)cells[1]->bytes);
        corners[count++] = (struct corner){cells[0], near[r].weight * (1 - larger)};
        if (cells[1] != cells[0])
            corners[count++] = (struct corner){cells[1], near[r].weight * larger};
    }
    return count;
}

static const struct tuned_algorithm *algorithm_in(const struct tuned_cell *cell, const char *text)
{
    for (int a = 0; a < cell->count; a++)
        if (strcmp(cell->algorithms[a].text, text) == 0)
            return &cell->algorithms[a];
    return NULL;
}

/* The weighted mean of the logarithm of its time over the best of each cell: the smaller the
 * better. */
static double merit_of(const struct corner *corners, int count, const char *text)
{
    double sum = 0;
    for (int c = 0; c < count; c++) {
        const struct tuned_algorithm *algorithm = algorithm_in(corners[c].cell, text);
        double best = corners[c].cell->algorithms[0].time;
        sum += corners[c].weight * (algorithm ? log(algorithm->time / best) : log(LACKING));
    }
    return sum;
}

struct merit {
    const struct tuned_algorithm *algorithm;
    double merit;
    int order; /* in which it was found: decides between equal ones */
};

static int merit_compare(const void *a, const void *b)
{
    const struct merit *x = a, *y = b;
    if (x->merit != y->merit)
        return x->merit < y->merit ? -1 : 1;
    return x->order - y->order;
}

/* All algorithms of the corners, the best first, each once. */
static int merits_find(const struct corner *corners, int count, struct merit merits[MERITS_MOST])
{
    int found = 0;
    for (int c = 0; c < count; c++)
        for (int a = 0; a < corners[c].cell->count && a < TUNED_MOST; a++) {
            const struct tuned_algorithm *algorithm = &corners[c].cell->algorithms[a];
            bool known = false;
            for (int before = 0; before < c && !known; before++)
                known = algorithm_in(corners[before].cell, algorithm->text) != NULL;
            if (!known && found < MERITS_MOST) {
                merits[found] =
                    (struct merit){algorithm, merit_of(corners, count, algorithm->text), found};
                found++;
            }
        }
    qsort(merits, (size_t)found, sizeof *merits, merit_compare);
    return found;
}

/* "the fastest on 4 ranks in tuned.json", "no. 2 between 4 and 8 ranks in tuned.json: ring
 * refuses". */
static void why_write(const struct tuned *tuned, const struct problem *problem,
                      const struct merit *merits, int place, char to[TUNED_WHY_MOST])
{
    struct text text = text_in(to, TUNED_WHY_MOST);
    struct near_ranks near[RANKS_NEAR];
    int nears = ranks_near(tuned, problem->collective, problem->ranks, near);
    int least = near[0].ranks, most = least;
    for (int r = 1; r < nears; r++) {
        least = near[r].ranks < least ? near[r].ranks : least;
        most = near[r].ranks > most ? near[r].ranks : most;
    }
    if (place == 0)
        text_add(&text, "the fastest");
    else
        text_add(&text, "no. %d", place + 1);
    bool between = least < problem->ranks && problem->ranks < most;
    if (between)
        text_add(&text, " between %d and %d ranks", least, most);
    else if (least != most)
        text_add(&text, " on %d and %d ranks", least, most);
    else
        text_add(&text, " on %d ranks", least);
    if (!between && least != problem->ranks)
        text_add(&text, ", the nearest to %d", problem->ranks);
    text_add(&text, " in %.60s", tuned->path);
    if (place > 0)
        text_add(&text, ", and %.30s refuses", merits[place - 1].algorithm->text);
}

bool tuned_choose(const struct tuned *tuned, const struct problem *problem, size_t bytes,
                  struct tuned_pick *pick)
{
    struct corner corners[CORNERS];
    struct merit merits[MERITS_MOST];
    int count = corners_find(tuned, problem, bytes, corners);
    int found = merits_find(corners, count, merits);
    for (int i = 0; i < found; i++) {
        char refusal[256];
        if (choice_refuses(&merits[i].algorithm->choice, problem, refusal, sizeof refusal))
            continue;
        pick->algorithm = merits[i].algorithm;
        why_write(tuned, problem, merits, i, pick->why);
        return true;
    }
    return false;
}
