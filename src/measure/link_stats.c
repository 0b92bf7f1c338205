/*
 * link_stats.c - what went between a rank and its peers, from the schedules and from the transports.
 */
#include "measure/link_stats.h"

#include <stdlib.h>

#include "base/log.h"
#include "run/runner.h"
#include "run/test_case.h"

/* The bytes of all iterations: the roots take turns. */
static void flows_add_schedule(struct link_stats *flows, const struct schedule *schedule,
                               uint64_t iterations, size_t element)
{
    for (size_t o = 0; o < schedule->count; o++) {
        const struct operation *operation = &schedule->operations[o];
        if (!operation_travels(operation->kind))
            continue;
        struct peer_stats *flow = flows->peers;
        while (flow->peer != operation->peer)
            flow++;
        uint64_t bytes = operation->length * element * iterations;
        *(operation->kind == OPERATION_SEND ? &flow->sent : &flow->received) += bytes;
        flow->counted &= operation->length * element >= WAIT_STATS_LEAST;
        if (operation->lane >= flow->lanes)
            flow->lanes = operation->lane + 1;
    }
}

static bool *peers_mark(const struct test_case *test_case, int ranks)
{
    bool *is_peer = calloc((size_t)ranks, sizeof *is_peer);
    for (int p = 0; is_peer && p < test_case->plans; p++)
        for (size_t o = 0; o < test_case->schedules[p]->count; o++)
            if (test_case->schedules[p]->operations[o].peer >= 0)
                is_peer[test_case->schedules[p]->operations[o].peer] = true;
    return is_peer;
}

enum status link_stats_create(const struct job *job, const struct test_case *test_case,
                              const struct runner *runner, struct link_stats **made)
{
    struct link_stats *flows = calloc(1, sizeof *flows);
    *made = flows;
    bool *is_peer = peers_mark(test_case, runner->ranks);
    if (flows && is_peer)
        flows->peers = calloc((size_t)runner->ranks, sizeof *flows->peers);
    if (!flows || !is_peer || !flows->peers) {
        free(is_peer);
        return fail(STATUS_ERROR, "out of memory for what goes to %d peers", runner->ranks);
    }
    for (int r = 0; r < runner->ranks; r++)
        if (is_peer[r])
            flows->peers[flows->count++] = (struct peer_stats){.peer = r, .counted = true};
    free(is_peer);
    for (int p = 0; p < test_case->plans; p++) {
        uint64_t turns = (uint64_t)(job->iterations / test_case->plans) +
                         (p < job->iterations % test_case->plans);
        flows_add_schedule(flows, test_case->schedules[p], turns, job->datatype->size);
    }
    size_t channels = 0;
    for (int i = 0; i < flows->count; i++)
        channels += 2 * (size_t)flows->peers[i].lanes;
    flows->before = calloc(channels + 1, sizeof *flows->before);
    return flows->before
               ? STATUS_OK
               : fail(STATUS_ERROR, "out of memory for what goes to %d peers", flows->count);
}

void link_stats_free(struct link_stats *flows)
{
    if (!flows)
        return;
    free(flows->peers);
    free(flows->before);
    free(flows);
}

static void flow_read(struct links *links, int peer, int lane, bool sends,
                      struct wait_stats *wait_stats)
{
    const struct channel *channel = links_channel(links, peer, lane, sends);
    *wait_stats = (struct wait_stats){0};
    if (channel && channel->endpoint->transport->wait_stats)
        channel->endpoint->transport->wait_stats(channel, wait_stats);
}

static uint64_t longer(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int compare_flows(const void *a, const void *b)
{
    const struct peer_stats *x = a, *y = b;
    uint64_t left = longer(x->busy, x->starved), right = longer(y->busy, y->starved);
    return left != right ? (left < right) - (left > right) : x->peer - y->peer;
}

int link_stats_sort(struct link_stats *flows)
{
    if (!flows)
        return 0;
    qsort(flows->peers, (size_t)flows->count, sizeof *flows->peers, compare_flows);
    return flows->count < LINK_STATS_MOST ? flows->count : LINK_STATS_MOST;
}

void link_stats_count(struct link_stats *flows, struct links *links, int sign)
{
    if (!flows)
        return;
    struct wait_stats *before = flows->before;
    for (int i = 0; i < flows->count; i++) {
        struct peer_stats *it = &flows->peers[i];
        it->counted &= links_transport(links, it->peer)->wait_stats != NULL;
        for (int lane = 0; lane < it->lanes; lane++, before += 2) {
            struct wait_stats out, in;
            flow_read(links, it->peer, lane, true, &out);
            flow_read(links, it->peer, lane, false, &in);
            if (sign < 0) {
                before[0] = out;
                before[1] = in;
                continue;
            }
            it->busy = longer(it->busy, out.busy - before[0].busy);
            it->resent += out.resent - before[0].resent;
            it->starved = longer(it->starved, in.starved - before[1].starved);
        }
    }
}
