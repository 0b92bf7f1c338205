/*
 * slow_cut.c - whether the hosts fall into two parts with a slow way between them.
 *
 * One collective measures few pairs of hosts, and single linkage needs no more, while
 * accept/judge/cut.c measures nearly all pairs of a fleet and can split them by a spectrum.
 */
#include "run/results/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/numbers.h"

#define PART_LEAST  2 /* hosts of a part */
#define CROSS_LEAST 4 /* pairs of hosts, in either direction, across the cut, */
#define INNER_LEAST 2 /* and inside the parts */
#define APART       1.5
#define FLOOR       (2.0 * BOTTLENECK_TICK)

/* Two hosts, with what went both ways between them. */
struct host_distance {
    int low, high; /* nodes */
    double time;   /* ns, as if they had carried the most */
};

struct host_cut {
    const struct bottleneck_case *given;
    int hosts;
    struct host_traffic *pairs;
    size_t pair_count;
    double most;
    int *part;             /* by node: a node of its part, the same for all of it */
    double *cross, *inner; /* times, sorted */
    size_t cross_count, inner_count;
};

static int compare_distances(const void *a, const void *b)
{
    const struct host_distance *x = a, *y = b;
    return x->time != y->time ? COMPARE(x->time, y->time)
           : x->low != y->low ? COMPARE(x->low, y->low)
                              : COMPARE(x->high, y->high);
}

static int compare_by_hosts(const void *a, const void *b)
{
    const struct host_distance *x = a, *y = b;
    return x->low != y->low ? COMPARE(x->low, y->low) : COMPARE(x->high, y->high);
}

static bool pair_counts(const struct host_cut *cut, const struct host_traffic *pair)
{
    return pair->bytes >= cut->most / BOTTLENECK_COMPARABLE;
}

static double pair_time(const struct host_cut *cut, const struct host_traffic *pair)
{
    return pair->busy * (cut->most / pair->bytes);
}

/* The nearest first; returns how many. `distances`: room for one of each pair. */
static size_t distances_gather(const struct host_cut *cut, struct host_distance *distances)
{
    size_t both = 0, count = 0;
    for (size_t i = 0; i < cut->pair_count; i++) {
        const struct host_traffic *pair = &cut->pairs[i];
        bool up = pair->from < pair->to;
        if (pair_counts(cut, pair))
            distances[both++] = (struct host_distance){.low = up ? pair->from : pair->to,
                                                       .high = up ? pair->to : pair->from,
                                                       .time = pair_time(cut, pair)};
    }
    qsort(distances, both, sizeof *distances, compare_by_hosts);
    for (size_t i = 0; i < both; i++) {
        struct host_distance *last = count ? &distances[count - 1] : NULL;
        if (last && compare_by_hosts(last, &distances[i]) == 0)
            last->time = (last->time + distances[i].time) / 2;
        else
            distances[count++] = distances[i];
    }
    qsort(distances, count, sizeof *distances, compare_distances);
    return count;
}

static int root_of(int *part, int node)
{
    while (part[node] != node)
        node = part[node] = part[part[node]];
    return node;
}

/* Joins the nearest hosts until two parts are left; false: they are more. */
static bool parts_join(struct host_cut *cut)
{
    struct host_distance *distances = new_array(cut->pair_count + 1, sizeof *distances);
    size_t count = distances_gather(cut, distances);
    int parts = cut->hosts;
    for (int n = 0; n < cut->hosts; n++)
        cut->part[n] = n;
    for (size_t i = 0; i < count && parts > 2; i++) {
        int a = root_of(cut->part, distances[i].low), b = root_of(cut->part, distances[i].high);
        parts -= a != b;
        cut->part[b] = a;
    }
    for (int n = 0; n < cut->hosts; n++)
        cut->part[n] = root_of(cut->part, n);
    free(distances);
    return parts == 2;
}

static bool pair_crosses(const struct host_cut *cut, const struct host_traffic *pair)
{
    return cut->part[pair->from] != cut->part[pair->to];
}

static void times_sort_out(struct host_cut *cut)
{
    for (size_t i = 0; i < cut->pair_count; i++) {
        const struct host_traffic *pair = &cut->pairs[i];
        if (!pair_counts(cut, pair))
            continue;
        double time = fmax(pair_time(cut, pair), FLOOR);
        if (pair_crosses(cut, pair))
            cut->cross[cut->cross_count++] = time;
        else
            cut->inner[cut->inner_count++] = time;
    }
    qsort(cut->cross, cut->cross_count, sizeof *cut->cross, compare_doubles);
    qsort(cut->inner, cut->inner_count, sizeof *cut->inner, compare_doubles);
}

/* Is the median link inside the part of `node` fast? */
static bool part_is_fast(const struct host_cut *cut, int node, double limit)
{
    double *times = new_array(cut->pair_count + 1, sizeof *times);
    size_t count = 0;
    for (size_t i = 0; i < cut->pair_count; i++) {
        const struct host_traffic *pair = &cut->pairs[i];
        if (cut->part[pair->from] == cut->part[node] && !pair_crosses(cut, pair) &&
            pair_counts(cut, pair))
            times[count++] = pair_time(cut, pair);
    }
    qsort(times, count, sizeof *times, compare_doubles);
    bool fast = count > 0 && fmax(times[(count - 1) / 2], FLOOR) <= limit;
    free(times);
    return fast;
}

/* Is it so in both parts? */
static bool parts_are_fast(const struct host_cut *cut, double limit)
{
    int other = 0;
    while (cut->part[other] == cut->part[0])
        other++;
    return part_is_fast(cut, 0, limit) && part_is_fast(cut, other, limit);
}

/* *share: of the time in which the links across the cut were waited for, in the worse direction. */
static bool cut_tells(struct host_cut *cut, double *share)
{
    size_t cross = cut->cross_count, inner = cut->inner_count;
    if (cross < CROSS_LEAST || inner < INNER_LEAST)
        return false;
    double own[2] = {0, 0}, median = cut->cross[(cross - 1) / 2];
    for (size_t i = 0; i < cut->pair_count; i++)
        if (pair_crosses(cut, &cut->pairs[i]))
            own[cut->part[cut->pairs[i].from] == cut->part[0]] += cut->pairs[i].own;
    *share = fmin(fmax(own[0], own[1]) / (double)cut->given->time, 1);
    return median >= BOTTLENECK_LEAST && *share * BOTTLENECK_SHARE >= 1 &&
           parts_are_fast(cut, median / BOTTLENECK_PRONOUNCED) &&
           cut->cross[(cross - 1) / 4] >= APART * cut->inner[(3 * inner - 1) / 4];
}

/* The hosts of the smaller part; false: it is too small. */
static bool hosts_name(const struct host_cut *cut, struct bottleneck *bottleneck)
{
    int first = 0;
    for (int n = 0; n < cut->hosts; n++)
        first += cut->part[n] == cut->part[0];
    bool is_first = 2 * first <= cut->hosts;
    for (int n = 0; n < cut->hosts; n++)
        if ((cut->part[n] == cut->part[0]) == is_first) {
            if (bottleneck->host_count < BOTTLENECK_HOSTS_MOST)
                bottleneck->hosts[bottleneck->host_count] = (struct bottleneck_host){n, true, true};
            bottleneck->host_count++;
        }
    return bottleneck->host_count >= PART_LEAST;
}

static void links_name(const struct host_cut *cut, struct bottleneck *bottleneck)
{
    uint64_t bytes = 0, own = 0, longest = 0;
    for (int i = 0; i < cut->given->link_count; i++) {
        const struct bottleneck_link *link = &cut->given->links[i];
        const struct host_traffic pair = {.from = cut->given->node[link->from],
                                          .to = cut->given->node[link->to]};
        uint64_t waited = bottleneck_own(link);
        if (link->bytes == 0 || !pair_crosses(cut, &pair))
            continue;
        if (bottleneck->links++ == 0 || waited > longest) {
            longest = waited;
            bottleneck->from = link->from;
            bottleneck->to = link->to;
        }
        bytes += link->bytes;
        own += waited;
    }
    bottleneck->rate = bottleneck_rate(bytes, own);
    bottleneck->others =
        bottleneck_rate((uint64_t)cut->most, (uint64_t)cut->inner[(cut->inner_count - 1) / 2]);
}

bool slow_cut_find(const struct bottleneck_case *given, struct bottleneck *bottleneck)
{
    size_t links = (size_t)given->link_count + 1;
    struct host_cut cut = {.given = given,
                           .pairs = new_array(links, sizeof *cut.pairs),
                           .part = new_array((size_t)given->ranks, sizeof *cut.part),
                           .cross = new_array(links, sizeof *cut.cross),
                           .inner = new_array(links, sizeof *cut.inner)};
    for (int r = 0; r < given->ranks; r++)
        cut.hosts = given->node[r] >= cut.hosts ? given->node[r] + 1 : cut.hosts;
    cut.pair_count = host_traffic_gather(given, cut.pairs, &cut.most);
    bool found = cut.hosts >= 2 * PART_LEAST && parts_join(&cut);
    if (found)
        times_sort_out(&cut);
    struct bottleneck named = *bottleneck;
    found = found && cut_tells(&cut, &named.share) && hosts_name(&cut, &named);
    if (found) {
        links_name(&cut, &named);
        named.kind = BOTTLENECK_CUT;
        *bottleneck = named;
    }
    free(cut.pairs);
    free(cut.part);
    free(cut.cross);
    free(cut.inner);
    return found;
}
