/*
 * ring_places.c - the order of the ranks on a ring, from where they run.
 *
 * Two ranks are the nearer, the smaller the part of the machines is that they share: a core, a third-
 * level cache, a NUMA node, a package, a host. A ring enters and leaves each such part once. Every
 * rank knows all places, and finds the same ring.
 */
#include "session/ring_places.h"

#include <stdlib.h>

#include "base/log.h"
#include "control/exchange.h"
#include "run/candidates.h"
#include "topology/ring_order.h"

/* Each level is left as seldom as possible, whatever that costs on the levels below it. */
static const uint32_t level_distance[] = {
    [CPU_CORE] = 1, [CPU_CACHE] = 10, [CPU_NUMA] = 100, [CPU_PACKAGE] = 1000, [CPU_LEVELS] = 10000,
};
#define OTHER_HOST 1000000

struct rank_places {
    struct session *session;
    cpu_set_t *cpus; /* of this host's ranks, in their order */
    int count;
    struct cpu_place *places; /* of all ranks */
};

static bool cpus_decode(void *argument, int rank, struct reader *reader)
{
    struct rank_places *all = argument;
    const struct node_ranks *node = &all->session->runner.node;
    cpu_set_t cpus;
    bool good = cpu_set_decode(&cpus, reader);
    if (good && all->count < node->count && node->ranks[all->count] == rank)
        all->cpus[all->count++] = cpus;
    return good;
}

static bool place_decode(void *argument, int rank, struct reader *reader)
{
    return cpu_place_decode(&((struct rank_places *)argument)->places[rank], reader);
}

static enum status places_exchange(struct rank_places *all)
{
    struct session *session = all->session;
    const struct node_ranks *node = &session->runner.node;
    struct bytes mine = {0}, place = {0};
    struct cpu_place found;
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        CPU_ZERO(&cpus);
    cpu_set_encode(&cpus, &mine);
    enum status status =
        exchange_decode(session->control, EXCHANGE_ALLGATHER, &mine, "CPU", cpus_decode, all);
    if (status != STATUS_OK)
        return status;
    cpu_place_find(all->cpus, node->count, node->place, session->job.bind == BIND_CORE, &found);
    cpu_place_encode(&found, &place);
    return exchange_decode(session->control, EXCHANGE_ALLGATHER, &place, "place on the ring",
                           place_decode, all);
}

static uint32_t ranks_distance(const void *argument, int a, int b)
{
    const struct rank_places *all = argument;
    const struct member *members = control_members(all->session->control);
    if (members[a].node != members[b].node)
        return OTHER_HOST;
    return level_distance[cpu_place_shared(&all->places[a], &all->places[b])];
}

/* The order in which a ring passes the parts of the machines: by host, package, node, cache, core. */
static int places_compare(const void *a, const void *b, void *argument)
{
    const struct rank_places *all = argument;
    const struct member *members = control_members(all->session->control);
    int x = *(const int *)a, y = *(const int *)b;
    if (members[x].node != members[y].node)
        return members[x].node < members[y].node ? -1 : 1;
    for (int l = CPU_LEVELS - 1; l >= 0; l--) {
        int p = all->places[x].at[l], q = all->places[y].at[l];
        if (p != q)
            return p < q ? -1 : 1;
    }
    return (x > y) - (x < y);
}

enum status session_find_ring(struct session *session)
{
    struct runner *runner = &session->runner;
    struct rank_places all = {.session = session};
    const struct rank_distances distances = {ranks_distance, &all};
    if (!job_orders_rings(&session->job))
        return STATUS_OK;
    all.cpus = calloc((size_t)runner->node.count, sizeof *all.cpus);
    all.places = calloc((size_t)runner->ranks, sizeof *all.places);
    enum status status = all.cpus && all.places
                             ? places_exchange(&all)
                             : fail(STATUS_ERROR, "out of memory for %d ranks", runner->ranks);
    if (status == STATUS_OK)
        runner->split.ring_place =
            ring_places_find(&distances, runner->ranks, places_compare, &all);
    if (status == STATUS_OK && !runner->split.ring_place)
        status = STATUS_ERROR;
    if (status == STATUS_OK)
        runner->group = split_group(&runner->split, runner->group.number);
    free(all.cpus);
    free(all.places);
    return status;
}
