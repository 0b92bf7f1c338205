/*
 * link_stats.c - what went between a rank and its peers, from the schedules and from the transports.
 */
#include "measure/link_stats.h"

#include <stdlib.h>

#include "base/log.h"
#include "run/runner.h"
#include "run/test_case.h"

enum status link_stats_create(const struct job *job, const struct test_case *test_case,
                              const struct runner *runner, struct link_stats **made)
{
    struct link_stats *flows = calloc(1, sizeof *flows);
    uint64_t element = job->datatype->size;
    size_t channels = 0;
    *made = flows;
    if (flows)
        flows->peers = calloc((size_t)runner->ranks, sizeof *flows->peers);
    for (int r = 0; flows && flows->peers && r < runner->ranks; r++) {
        const struct peer_use *use = &test_case->peers[r];
        if (use->lanes == 0)
            continue;
        flows->peers[flows->count++] =
            (struct peer_stats){.peer = r,
                                .lanes = use->lanes,
                                .sent = use->sent * element,
                                .received = use->received * element,
                                .counted = use->shortest * element >= WAIT_STATS_LEAST};
        channels += 2 * (size_t)use->lanes;
    }
    if (flows)
        flows->before = calloc(channels + 1, sizeof *flows->before);
    return flows && flows->peers && flows->before
               ? STATUS_OK
               : fail(STATUS_ERROR, "out of memory for the link statistics of %d peers",
                      runner->ranks);
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
