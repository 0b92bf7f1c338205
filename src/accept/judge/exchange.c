/*
 * exchange.c - shares of transfers, groups that stand out, bounds of collectives; and the switches
 * that hosts stand behind.
 */
#include "accept/judge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"

/* GB/s of a host in one direction; 0: it has no level. */
static double rate_of(const struct fleet *fleet, int host, int rail, enum direction direction)
{
    int series = fleet_find(fleet, METRIC_BOTH, rail, direction);
    double level = fleet_level(fleet, series, host);
    return isfinite(level) ? fleet_value(fleet, series, level) : 0;
}

int exchange_slowest(const struct fleet *fleet, const bool *present, double *rate)
{
    int slowest = -1;
    *rate = 0;
    for (int h = 0; h < fleet->config.hosts; h++) {
        double sends = 0, receives = 0;
        for (int r = 0; r < fleet->config.rails; r++) {
            sends += rate_of(fleet, h, r, DIRECTION_SEND);
            receives += rate_of(fleet, h, r, DIRECTION_RECEIVE);
        }
        double least = fmin(sends, receives);
        if (present[h] && least > 0 && (slowest < 0 || least < *rate)) {
            slowest = h;
            *rate = least;
        }
    }
    return slowest;
}

/* 0: it has none. */
static double share_of(const struct exchange_transfer *transfer)
{
    return transfer->few > 0 && transfer->many > 0 ? transfer->many / transfer->few : 0;
}

/* The groups that a transfer belongs to: those of its ends, if they differ. Returns how many. */
static int groups_of(const struct exchange_transfer *transfer, const int *group_of, int groups[2])
{
    int from = group_of[transfer->from], to = group_of[transfer->to];
    if (!(share_of(transfer) > 0) || from < 0 || to < 0 || from == to)
        return 0;
    groups[0] = from;
    groups[1] = to;
    return 2;
}

/* The transfers of each group, as numbers. */
static void members_fill(struct bins *members, struct arena *memory,
                         const struct exchange_transfer *transfers, size_t count,
                         const int *group_of)
{
    int groups[2];
    for (size_t i = 0; i < count; i++)
        for (int g = groups_of(&transfers[i], group_of, groups); g-- > 0;)
            bins_count(members, groups[g]);
    bins_reserve(members, memory);
    for (size_t i = 0; i < count; i++)
        for (int g = groups_of(&transfers[i], group_of, groups); g-- > 0;)
            bins_put(members, groups[g], (double)i);
}

/* A group's place in the order in which groups are looked at. */
struct ranked_group {
    int group;
    double low, share; /* of its transfers, those below SHARE_LEAST; the median of theirs */
};

static int ranked_compare(const void *a, const void *b)
{
    const struct ranked_group *x = a, *y = b;
    return COMPARE(y->low, x->low) ?: COMPARE(x->share, y->share) ?: COMPARE(x->group, y->group);
}

struct judging {
    const struct exchange_transfer *transfers;
    struct bins members;
    bool *explained; /* of each transfer */
    double *scratch; /* for as many shares */
    struct ranked_group *ranked;
};

/* How many of these shares are low, as a share of them. */
static double low_share(const double *shares, size_t count)
{
    size_t low = 0;
    for (size_t i = 0; i < count; i++)
        low += shares[i] < SHARE_LEAST;
    return count > 0 ? (double)low / (double)count : 0;
}

/* The median share of a group's transfers that are not explained, and how many these are. */
static double share_left(struct judging *judging, int group, size_t *left)
{
    const double *members = bins_of(&judging->members, group);
    *left = 0;
    for (size_t i = 0; i < bins_size(&judging->members, group); i++)
        if (!judging->explained[(size_t)members[i]])
            judging->scratch[(*left)++] = share_of(&judging->transfers[(size_t)members[i]]);
    return median_of(judging->scratch, *left);
}

static void groups_judge(struct judging *judging, int group_count, struct exchange_group *groups)
{
    size_t left;
    for (int g = 0; g < group_count; g++) {
        groups[g] = (struct exchange_group){.share = share_left(judging, g, &left)};
        groups[g].transfers = (int)left;
        judging->ranked[g] = (struct ranked_group){
            .group = g, .low = low_share(judging->scratch, left), .share = groups[g].share};
    }
    qsort(judging->ranked, (size_t)group_count, sizeof *judging->ranked, ranked_compare);
    for (int r = 0; r < group_count; r++) {
        int group = judging->ranked[r].group;
        const double *members = bins_of(&judging->members, group);
        double share = share_left(judging, group, &left);
        groups[group].congested = left >= TRANSFERS_LEAST && share < SHARE_LEAST;
        for (size_t i = 0; groups[group].congested && i < bins_size(&judging->members, group); i++)
            judging->explained[(size_t)members[i]] = true;
    }
}

static struct exchange_group shares_judge(const struct exchange_transfer *transfers, size_t count,
                                          double *scratch)
{
    struct exchange_group all = {0};
    for (size_t i = 0; i < count; i++)
        if (share_of(&transfers[i]) > 0)
            scratch[all.transfers++] = share_of(&transfers[i]);
    all.share = median_of(scratch, (size_t)all.transfers);
    all.congested = all.transfers > 0 && all.share < SHARE_LEAST;
    return all;
}

struct exchange_group exchange_judge(const struct exchange_transfer *transfers, size_t count,
                                     const int *group_of, int group_count,
                                     struct exchange_group *groups)
{
    struct arena *memory = arena_create();
    struct judging judging = {.transfers = transfers,
                              .explained = arena_new(memory, count, sizeof *judging.explained),
                              .scratch = arena_new(memory, count, sizeof *judging.scratch),
                              .ranked =
                                  arena_new(memory, (size_t)group_count, sizeof *judging.ranked)};
    struct exchange_group all = shares_judge(transfers, count, judging.scratch);
    if (group_count > 0) {
        bins_create(&judging.members, memory, group_count);
        members_fill(&judging.members, memory, transfers, count, group_of);
        groups_judge(&judging, group_count, groups);
    }
    arena_free(memory);
    return all;
}

double allreduce_least_us(int hosts, double bytes, double rate)
{
    return 2.0 * (hosts - 1) / hosts * bytes / (rate * 1e3);
}

double alltoall_least_us(int hosts, int ranks, double bytes, double rate)
{
    return ranks * bytes * (hosts - 1) / hosts / (rate * 1e3);
}

/*
 * Switches.
 */
void switch_level_free(struct switch_level *level)
{
    for (int s = 0; level->name && s < level->count; s++)
        free(level->name[s]);
    free(level->name);
    free(level->switches);
    *level = (struct switch_level){0};
}

/* Counts the hosts of each switch, of these hosts or (NULL) of all: the caller's to free. */
static int *sizes_find(const struct switch_level *level, const int *hosts, int count)
{
    int *sizes = new_array((size_t)level->count, sizeof *sizes);
    for (int i = 0; i < count; i++) {
        int number = level->switches[hosts ? hosts[i] : i];
        if (number >= 0)
            sizes[number]++;
    }
    return sizes;
}

int switches_used(const struct switch_level *level, const int *hosts, int count)
{
    int *sizes = sizes_find(level, hosts, count), used = 0;
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
    return COMPARE(y->hosts, x->hosts) ?: COMPARE(x->place, y->place);
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

static void sides_fill(struct dealing *dealing, uint64_t *random, int filled[2])
{
    random_shuffle(dealing->order, dealing->level->count, random);
    for (int s = 0; s < dealing->level->count; s++)
        dealing->switches[s] = (struct dealt_switch){
            .number = s, .hosts = dealing->sizes[s], .place = dealing->order[s]};
    qsort(dealing->switches, (size_t)dealing->level->count, sizeof *dealing->switches,
          dealt_compare);
    int total[2] = {0, 0};
    for (int s = 0; s < dealing->level->count; s++) {
        bool side = total[1] < total[0];
        dealing->side[dealing->switches[s].number] = side;
        total[side] += dealing->switches[s].hosts;
    }
    random_shuffle(dealing->order, dealing->count, random);
    for (int i = 0; i < dealing->count; i++) {
        int host = dealing->hosts[dealing->order[i]], leaf = dealing->level->switches[host];
        if (leaf >= 0)
            dealing->sides[dealing->side[leaf]][filled[dealing->side[leaf]]++] = host;
    }
}

int switches_pairs(const struct switch_level *level, const int *hosts, int count, uint64_t *random,
                   struct host_pair *pairs)
{
    size_t switches = (size_t)level->count + 1, room = (size_t)count + 1;
    struct arena *memory = arena_create();
    int *sizes = sizes_find(level, hosts, count), filled[2] = {0, 0}, made = 0;
    struct dealing dealing = {
        .level = level,
        .hosts = hosts,
        .count = count,
        .sizes = sizes,
        .order = arena_new(memory, switches > room ? switches : room, sizeof *dealing.order),
        .switches = arena_new(memory, switches, sizeof *dealing.switches),
        .side = arena_new(memory, switches, sizeof *dealing.side),
        .sides = {arena_new(memory, room, sizeof(int)), arena_new(memory, room, sizeof(int))}};
    sides_fill(&dealing, random, filled);
    for (; made < filled[0] && made < filled[1]; made++)
        pairs[made] = (struct host_pair){.a = dealing.sides[0][made], .b = dealing.sides[1][made]};
    arena_free(memory);
    free(sizes);
    return made;
}

/* ---- faulty hosts ---- */

/* C(part, picked) / C(whole, picked): the probability that all that are picked are of the part. */
static double picked_from(int part, int whole, int picked)
{
    double chance = 1;
    for (int i = 0; i < picked; i++)
        chance *= part > i ? (double)(part - i) / (whole - i) : 0;
    return chance;
}

int switches_common(const struct switch_level *level, int hosts, const bool *faulty)
{
    int common = -1, picked = 0, known = 0;
    for (int h = 0; h < hosts; h++) {
        known += level->switches[h] >= 0;
        if (!faulty[h])
            continue;
        if (level->switches[h] < 0 || (picked > 0 && level->switches[h] != common))
            return -1;
        common = level->switches[h];
        picked++;
    }
    int *sizes = sizes_find(level, NULL, hosts);
    double chance = 0;
    for (int s = 0; s < level->count; s++)
        chance += picked_from(sizes[s], known, picked);
    free(sizes);
    return chance <= CHANCE_MOST ? common : -1;
}
