/*
 * delays.c - which hosts are farther away than the others.
 */
#include "run/results/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/numbers.h"
#include "base/text.h"

#define PARTNERS_LEAST 2       /* hosts that a host has connections with */
#define LEFT_LEAST     2       /* hosts that are not far */
#define PRONOUNCED     3       /* times as far */
#define FLOOR          50000.0 /* ns: shorter round trips differ for many reasons */

/* A host, by its first rank. */
struct far_host {
    int rank;
    double ns;
};

/* The farthest first. */
static int compare_hosts(const void *a, const void *b)
{
    const struct far_host *x = a, *y = b;
    return x->ns != y->ns ? COMPARE(y->ns, x->ns) : COMPARE(x->rank, y->rank);
}

struct delay_case {
    const struct result *result;
    const struct member *members;
    double *trips; /* room for those of all hosts */
    double *least; /* by node; room for one host's */
};

/* The shortest round trips between this node and each other that its ranks have measured; where
 * `far` is set, only those to nodes that are not far, by node. Returns how many they are. */
static size_t trips_of(const struct delay_case *given, int node, const bool *far, double *trips)
{
    const struct member *members = given->members;
    int ranks = given->result->ranks;
    size_t count = 0;
    memset(given->least, 0, (size_t)ranks * sizeof *given->least);
    for (int r = 0; r < ranks; r++)
        for (int i = 0; members[r].node == node && i < given->result->samples[r].peers; i++) {
            const struct peer_stats *peer = &given->result->samples[r].peer[i];
            int other = members[peer->peer].node;
            double ns = (double)peer->least_ns, *least = &given->least[other];
            if (peer->least_ns > 0 && other != node && !(far && far[other]) &&
                (*least == 0 || ns < *least))
                *least = ns;
        }
    for (int other = 0; other < ranks; other++)
        if (given->least[other] > 0)
            trips[count++] = given->least[other];
    qsort(trips, count, sizeof *trips, compare_doubles);
    return count;
}

/* Returns how many hosts are in `hosts`. */
static size_t hosts_gather(const struct delay_case *given, struct far_host *hosts)
{
    const struct member *members = given->members;
    double *trips = given->trips;
    size_t host_count = 0;
    for (int r = 0; r < given->result->ranks; r++) {
        int first = 0;
        while (members[first].node != members[r].node)
            first++;
        size_t count = first == r ? trips_of(given, members[r].node, NULL, trips) : 0;
        if (count >= PARTNERS_LEAST)
            hosts[host_count++] = (struct far_host){r, trips[(count - 1) / 4]};
    }
    qsort(hosts, host_count, sizeof *hosts, compare_hosts);
    return host_count;
}

static size_t hosts_far(const struct far_host *hosts, size_t count)
{
    double *values = new_array(count + 1, sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = hosts[i].ns;
    size_t above = gap_above(values, count, FLOOR, PRONOUNCED);
    free(values);
    return above > 0 && count - above >= LEFT_LEAST &&
                   hosts[above - 1].ns - hosts[above].ns >= DELAY_LEAST
               ? above
               : 0;
}

/* Median of the round trips among the hosts that are not far. */
static double others_median(const struct delay_case *given, const struct far_host *hosts,
                            size_t above, size_t count)
{
    const struct member *members = given->members;
    double *trips = given->trips;
    bool *far = new_array((size_t)given->result->ranks, sizeof *far);
    size_t held = 0;
    for (size_t i = 0; i < above; i++)
        far[members[hosts[i].rank].node] = true;
    for (size_t i = above; i < count; i++)
        held += trips_of(given, members[hosts[i].rank].node, far, trips + held);
    free(far);
    qsort(trips, held, sizeof *trips, compare_doubles);
    return held ? trips[(held - 1) / 2] : 0;
}

void result_find_delays(const struct member *members, struct result *result)
{
    size_t most = 1, ranks = (size_t)result->ranks;
    for (size_t r = 0; r < ranks; r++)
        most += (size_t)result->samples[r].peers;
    struct delay_case given = {.result = result,
                               .members = members,
                               .trips = new_array(most, sizeof *given.trips),
                               .least = new_array(ranks, sizeof *given.least)};
    struct far_host *hosts = new_array(ranks, sizeof *hosts);
    size_t count = hosts_gather(&given, hosts), above = hosts_far(hosts, count);
    double others = above ? others_median(&given, hosts, above, count) : 0;
    result->delay_count = others > 0 ? (int)above : 0;
    for (int i = 0; i < DELAYS_MOST && i < result->delay_count; i++) {
        struct delay *delay = &result->delays[i];
        *delay = (struct delay){.rank = hosts[i].rank, .ns = hosts[i].ns, .others_ns = others};
        struct text text = text_in(delay->text, sizeof delay->text);
        text_add(&text,
                 "round trips with host %s take %.3g ms at least, the others' median is %.3g ms",
                 members[delay->rank].host, delay->ns * 1e-6, others * 1e-6);
    }
    free(given.trips);
    free(given.least);
    free(hosts);
}
