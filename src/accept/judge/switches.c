/*
 * switches.c - what the layout of a network adds.
 */
#include "accept/judge/judge.h"

#include <stdlib.h>

#include "base/random.h"

void switch_level_free(struct switch_level *level)
{
    for (int s = 0; level->name && s < level->count; s++)
        free(level->name[s]);
    free(level->name);
    free(level->of);
    *level = (struct switch_level){0};
}

/* Counts the hosts of each switch: the caller's to free; NULL: out of memory. */
static int *sizes_find(const struct switch_level *level, const int *hosts, int count)
{
    int *sizes = calloc((size_t)level->count + 1, sizeof *sizes);
    for (int i = 0; sizes && i < count; i++)
        if (level->of[hosts[i]] >= 0)
            sizes[level->of[hosts[i]]]++;
    return sizes;
}

int switches_used(const struct switch_level *level, const int *hosts, int count)
{
    int *sizes = sizes_find(level, hosts, count), used = 0;
    if (!sizes)
        return -1;
    for (int s = 0; s < level->count; s++)
        used += sizes[s] > 0;
    free(sizes);
    return used;
}

/* ---- pairs ---- */

struct dealt_switch {
    int number, hosts, place; /* place: at random */
};

/* The largest first. */
static int dealt_compare(const void *a, const void *b)
{
    const struct dealt_switch *x = a, *y = b;
    return x->hosts != y->hosts ? y->hosts - x->hosts : x->place - y->place;
}

struct dealing {
    const struct switch_level *level;
    const int *hosts;
    int count;
    int *sizes;                    /* of each switch */
    int *order;                    /* room for all switches, and for all hosts */
    struct dealt_switch *switches; /* in the order in which they are dealt */
    bool *side;                    /* of each switch */
    int *sides[2];                 /* the hosts of each */
};

static void sides_fill(struct dealing *it, uint64_t *random, int filled[2])
{
    random_shuffle(it->order, it->level->count, random);
    for (int s = 0; s < it->level->count; s++)
        it->switches[s] =
            (struct dealt_switch){.number = s, .hosts = it->sizes[s], .place = it->order[s]};
    qsort(it->switches, (size_t)it->level->count, sizeof *it->switches, dealt_compare);
    int total[2] = {0, 0};
    for (int s = 0; s < it->level->count; s++) {
        bool side = total[1] < total[0];
        it->side[it->switches[s].number] = side;
        total[side] += it->switches[s].hosts;
    }
    random_shuffle(it->order, it->count, random);
    for (int i = 0; i < it->count; i++) {
        int host = it->hosts[it->order[i]], of = it->level->of[host];
        if (of >= 0)
            it->sides[it->side[of]][filled[it->side[of]]++] = host;
    }
}

int switches_pairs(const struct switch_level *level, const int *hosts, int count, uint64_t *random,
                   struct host_pair *pairs)
{
    size_t switches = (size_t)level->count + 1, room = (size_t)count + 1;
    struct dealing it = {
        .level = level,
        .hosts = hosts,
        .count = count,
        .sizes = sizes_find(level, hosts, count),
        .order = calloc(switches > room ? switches : room, sizeof *it.order),
        .switches = calloc(switches, sizeof *it.switches),
        .side = calloc(switches, sizeof *it.side),
        .sides = {calloc(room, sizeof *it.sides[0]), calloc(room, sizeof *it.sides[1])}};
    int filled[2] = {0, 0}, made = -1;
    if (it.sizes && it.order && it.switches && it.side && it.sides[0] && it.sides[1]) {
        sides_fill(&it, random, filled);
        for (made = 0; made < filled[0] && made < filled[1]; made++)
            pairs[made] = (struct host_pair){.a = it.sides[0][made], .b = it.sides[1][made]};
    }
    free(it.sizes);
    free(it.order);
    free(it.switches);
    free(it.side);
    free(it.sides[0]);
    free(it.sides[1]);
    return made;
}

/* ---- sick hosts ---- */

/* C(part, picked) / C(whole, picked): the probability that all that are picked are of the part. */
static double picked_from(int part, int whole, int picked)
{
    double chance = 1;
    for (int i = 0; i < picked; i++)
        chance *= part > i ? (double)(part - i) / (whole - i) : 0;
    return chance;
}

int switches_common(const struct switch_level *level, int hosts, const bool *sick)
{
    int common = -1, picked = 0, known = 0;
    for (int h = 0; h < hosts; h++) {
        known += level->of[h] >= 0;
        if (!sick[h])
            continue;
        if (level->of[h] < 0 || (picked > 0 && level->of[h] != common))
            return -1;
        common = level->of[h];
        picked++;
    }
    int *sizes = calloc((size_t)level->count + 1, sizeof *sizes);
    double chance = sizes && picked > 0 ? 0 : 1;
    for (int h = 0; sizes && h < hosts; h++)
        if (level->of[h] >= 0)
            sizes[level->of[h]]++;
    for (int s = 0; sizes && picked > 0 && s < level->count; s++)
        chance += picked_from(sizes[s], known, picked);
    free(sizes);
    return chance <= CHANCE_MOST ? common : -1;
}
