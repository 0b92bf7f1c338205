/*
 * slow_hosts.c - which hosts are slow in sending, or in receiving, from the links between all.
 */
#include "run/results/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/numbers.h"

#define PARTNERS_LEAST 2   /* of a host in a direction */
#define LEFT_LEAST     2   /* hosts that are not slow */
#define SPREAD         8   /* times below the slowest: all that is faster is alike */
#define ONE_WAY        1.5 /* times as slow in a direction as in the other: only that is slow */

/* A host as the sender, or as the receiver. */
struct host_end {
    int node;
    bool sends;
    int partners;
    bool slow;
    double bytes, busy, own;
    double time; /* ns: the lower quartile over its partners, as if each pair carried the most */
};

#define SLOW_FROM 1
#define SLOW_TO   2

struct fit {
    const struct bottleneck_case *given;
    struct host_traffic *pairs;
    size_t pair_count;
    double most; /* bytes of a pair */
    struct host_end *ends;
    size_t end_count;
    double *scratch;          /* room for a value of each pair */
    bool *slow;               /* by node: it is, or seemed so, in a direction */
    unsigned char *slow_ends; /* by node, as bits */
};

static int compare_pairs(const void *a, const void *b)
{
    const struct host_traffic *x = a, *y = b;
    return x->from != y->from ? COMPARE(x->from, y->from) : COMPARE(x->to, y->to);
}

static int compare_by_receiver(const void *a, const void *b)
{
    const struct host_traffic *x = a, *y = b;
    return x->to != y->to ? COMPARE(x->to, y->to) : COMPARE(x->from, y->from);
}

/* The slowest first. */
static int compare_ends(const void *a, const void *b)
{
    const struct host_end *x = a, *y = b;
    return x->time != y->time ? COMPARE(y->time, x->time) : COMPARE(x->node, y->node);
}

size_t host_traffic_gather(const struct bottleneck_case *given, struct host_traffic *pairs,
                           double *most)
{
    size_t links = 0, count = 0;
    for (int i = 0; i < given->link_count; i++) {
        const struct bottleneck_link *link = &given->links[i];
        int from = given->node[link->from], to = given->node[link->to];
        if (from != to && link->bytes > 0)
            pairs[links++] = (struct host_traffic){.from = from,
                                                   .to = to,
                                                   .bytes = (double)link->bytes,
                                                   .busy = (double)link->busy,
                                                   .own = (double)bottleneck_own(link)};
    }
    qsort(pairs, links, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < links; i++) {
        struct host_traffic *last = count ? &pairs[count - 1] : NULL;
        if (last && compare_pairs(last, &pairs[i]) == 0) {
            last->bytes += pairs[i].bytes;
            last->busy += pairs[i].busy;
            last->own += pairs[i].own;
        } else {
            pairs[count++] = pairs[i];
        }
    }
    *most = 0;
    for (size_t i = 0; i < count; i++)
        *most = fmax(pairs[i].bytes, *most);
    return count;
}

static bool pair_counts(const struct fit *fit, const struct host_traffic *pair)
{
    return pair->bytes >= fit->most / BOTTLENECK_COMPARABLE;
}

/* Adds the end of each host in one direction; the pairs are sorted by it. */
static void ends_add(struct fit *fit, bool sends)
{
    for (size_t i = 0, next; i < fit->pair_count; i = next) {
        struct host_end end = {.node = sends ? fit->pairs[i].from : fit->pairs[i].to,
                               .sends = sends};
        for (next = i; next < fit->pair_count; next++) {
            const struct host_traffic *pair = &fit->pairs[next];
            if ((sends ? pair->from : pair->to) != end.node)
                break;
            end.bytes += pair->bytes;
            end.busy += pair->busy;
            end.own += pair->own;
            if (pair_counts(fit, pair))
                fit->scratch[end.partners++] = pair->busy * (fit->most / pair->bytes);
        }
        if (end.partners < PARTNERS_LEAST)
            continue;
        qsort(fit->scratch, (size_t)end.partners, sizeof *fit->scratch, compare_doubles);
        end.time = fit->scratch[(end.partners - 1) / 4];
        fit->ends[fit->end_count++] = end;
    }
}

size_t gap_above(const double *values, size_t count, double floor, double least)
{
    double widest = least;
    size_t above = 0;
    for (size_t i = 1; i < count; i++) {
        double ratio = fmax(values[i - 1], floor) / fmax(values[i], floor);
        if (ratio >= widest) {
            widest = ratio;
            above = i;
        }
    }
    return above;
}

/* Ends above the widest gap are slow. */
static void gap_find(struct fit *fit)
{
    qsort(fit->ends, fit->end_count, sizeof *fit->ends, compare_ends);
    double *times = new_array(fit->end_count + 1, sizeof *times);
    for (size_t i = 0; i < fit->end_count; i++)
        times[i] = fit->ends[i].time;
    double floor = fmax(times[0] / SPREAD, 2.0 * BOTTLENECK_TICK);
    size_t slow = gap_above(times, fit->end_count, floor, BOTTLENECK_NEARLY);
    free(times);
    for (size_t i = 0; i < slow; i++) {
        fit->ends[i].slow = true;
        fit->slow[fit->ends[i].node] = true;
    }
}

/* Acknowledgements of one direction pass through the other, so bytes are long on their way in
 * both. Of a host that is much slower in one of them, only that one is. */
static void ways_tell(struct fit *fit)
{
    for (size_t i = 0; i < fit->end_count; i++)
        for (size_t k = 0; k < fit->end_count; k++) {
            const struct host_end *other = &fit->ends[k];
            struct host_end *end = &fit->ends[i];
            if (end->node == other->node && end->slow && other->slow && end != other &&
                other->busy * end->bytes >= ONE_WAY * end->busy * other->bytes)
                end->slow = false;
        }
}

/* Does no slow end have more to carry than half as much again as the busiest of the others? The
 * host of an algorithm's root sends more, so its links are slower for a good reason. */
static bool loads_are_fair(const struct fit *fit)
{
    double most[2] = {0, 0};
    for (size_t i = 0; i < fit->end_count; i++) {
        const struct host_end *end = &fit->ends[i];
        if (!fit->slow[end->node] && end->bytes > most[end->sends])
            most[end->sends] = end->bytes;
    }
    for (size_t i = 0; i < fit->end_count; i++)
        if (fit->ends[i].slow && fit->ends[i].bytes > 1.5 * most[fit->ends[i].sends])
            return false;
    return true;
}

static bool pair_is_slow(const struct fit *fit, const struct host_traffic *pair)
{
    return (fit->slow_ends[pair->from] & SLOW_FROM) || (fit->slow_ends[pair->to] & SLOW_TO);
}

/* Are most links from slow senders to slow receivers as slow? Else their hosts are behind a slow
 * way that they share, and are not slow themselves. */
static bool slow_ones_confirm(const struct fit *fit, double least)
{
    size_t count = 0;
    for (size_t i = 0; i < fit->pair_count; i++) {
        const struct host_traffic *pair = &fit->pairs[i];
        if (fit->slow[pair->from] && fit->slow[pair->to] && pair_is_slow(fit, pair) &&
            pair_counts(fit, pair))
            fit->scratch[count++] = pair->busy * (fit->most / pair->bytes);
    }
    qsort(fit->scratch, count, sizeof *fit->scratch, compare_doubles);
    return count == 0 || fit->scratch[count / 2] * BOTTLENECK_NEARLY >= least;
}

/* Are the links among hosts that are not slow at all fast? */
static bool others_confirm(const struct fit *fit, double least, struct bottleneck *bottleneck)
{
    double bytes = 0, own = 0;
    size_t others = 0;
    for (size_t i = 0; i < fit->pair_count; i++) {
        const struct host_traffic *pair = &fit->pairs[i];
        if (pair_is_slow(fit, pair)) {
            bytes += pair->bytes;
            own += pair->own;
        } else if (!fit->slow[pair->from] && !fit->slow[pair->to] && pair_counts(fit, pair)) {
            if (pair->own * BOTTLENECK_NEARLY >= least)
                return false;
            fit->scratch[others++] = bottleneck_rate((uint64_t)pair->bytes, (uint64_t)pair->busy);
        }
    }
    if (others < PARTNERS_LEAST)
        return false;
    qsort(fit->scratch, others, sizeof *fit->scratch, compare_doubles);
    bottleneck->rate = bottleneck_rate((uint64_t)bytes, (uint64_t)own);
    bottleneck->others = fit->scratch[(others - 1) / 2];
    return bottleneck->others >= BOTTLENECK_PRONOUNCED * bottleneck->rate;
}

/* The slowest hosts, with their directions. */
static void hosts_name(const struct fit *fit, struct bottleneck *bottleneck)
{
    int named = 0;
    for (size_t i = 0; i < fit->end_count; i++) {
        const struct host_end *end = &fit->ends[i];
        int at = 0;
        while (at < named && bottleneck->hosts[at].node != end->node)
            at++;
        if (!end->slow || at == BOTTLENECK_HOSTS_MOST)
            continue;
        struct bottleneck_host *host = &bottleneck->hosts[at];
        host->node = end->node;
        host->from |= end->sends;
        host->to |= !end->sends;
        named += at == named;
    }
}

/* The link of a slow end that was waited for longest, and how many links they have. */
static void links_name(const struct fit *fit, struct bottleneck *bottleneck)
{
    uint64_t longest = 0;
    for (int i = 0; i < fit->given->link_count; i++) {
        const struct bottleneck_link *link = &fit->given->links[i];
        const struct host_traffic pair = {.from = fit->given->node[link->from],
                                          .to = fit->given->node[link->to]};
        if (link->bytes == 0 || pair.from == pair.to || !pair_is_slow(fit, &pair))
            continue;
        if (bottleneck->links++ == 0 || bottleneck_own(link) > longest) {
            longest = bottleneck_own(link);
            bottleneck->from = link->from;
            bottleneck->to = link->to;
        }
    }
}

static bool fit_tells(struct fit *fit, struct bottleneck *bottleneck)
{
    double longest = 0, least = 0, time = (double)fit->given->time;
    int hosts = 0, slow = 0;
    for (size_t i = 0; i < fit->end_count; i++) {
        const struct host_end *end = &fit->ends[i];
        if (!end->slow)
            continue;
        fit->slow_ends[end->node] |= end->sends ? SLOW_FROM : SLOW_TO;
        longest = end->own > longest ? end->own : longest;
        least = end->time; /* they are sorted */
    }
    for (int r = 0; r < fit->given->ranks; r++)
        hosts = fit->given->node[r] >= hosts ? fit->given->node[r] + 1 : hosts;
    for (int n = 0; n < hosts; n++)
        slow += fit->slow[n];
    if (slow == 0 || hosts - slow < LEFT_LEAST || least < BOTTLENECK_LEAST ||
        longest < time / BOTTLENECK_SHARE || !loads_are_fair(fit) ||
        !slow_ones_confirm(fit, least) || !others_confirm(fit, least, bottleneck))
        return false;
    bottleneck->kind = BOTTLENECK_HOST;
    bottleneck->share = longest < time ? longest / time : 1;
    bottleneck->host_count = slow;
    hosts_name(fit, bottleneck);
    links_name(fit, bottleneck);
    return true;
}

bool slow_hosts_find(const struct bottleneck_case *given, struct bottleneck *bottleneck)
{
    size_t links = (size_t)given->link_count + 1, ranks = (size_t)given->ranks;
    struct fit fit = {.given = given,
                      .pairs = new_array(links, sizeof *fit.pairs),
                      .ends = new_array(2 * ranks, sizeof *fit.ends),
                      .scratch = new_array(links, sizeof *fit.scratch),
                      .slow = new_array(ranks, sizeof *fit.slow),
                      .slow_ends = new_array(ranks, sizeof *fit.slow_ends)};
    fit.pair_count = host_traffic_gather(given, fit.pairs, &fit.most);
    ends_add(&fit, true);
    qsort(fit.pairs, fit.pair_count, sizeof *fit.pairs, compare_by_receiver);
    ends_add(&fit, false);
    gap_find(&fit);
    ways_tell(&fit);
    bool found = fit_tells(&fit, bottleneck);
    free(fit.pairs);
    free(fit.ends);
    free(fit.scratch);
    free(fit.slow);
    free(fit.slow_ends);
    return found;
}
