/*
 * link_stats.c - bytes and waiting times per peer: bytes from the schedules, times from the
 * transports.
 */
#include "run/results/internal.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"

/* Lists the lanes on which this rank sends: the collective's, and the start barrier's. */
static void sending_gather(struct link_stats *stats, const struct schedule *start)
{
    size_t start_count = start ? start->count : 0;
    stats->sending = new_array((size_t)stats->count + start_count, sizeof *stats->sending);
    for (int i = 0; i < stats->count; i++)
        stats->sending[stats->sending_count++] = (struct sending_lanes){
            .peer = stats->peers[i].peer, .first = 0, .end = stats->peers[i].lanes};
    for (size_t i = 0; i < start_count; i++)
        if (start->operations[i].kind == OPERATION_SEND)
            stats->sending[stats->sending_count++] =
                (struct sending_lanes){.peer = start->operations[i].peer,
                                       .first = start->operations[i].lane,
                                       .end = start->operations[i].lane + 1};
}

void link_stats_create(const struct test_case *test_case, const struct runner *runner,
                       struct link_stats **made)
{
    struct link_stats *stats = new_array(1, sizeof *stats);
    uint64_t element = test_case->candidate->datatype->size;
    size_t channels = 0;
    *made = stats;
    stats->peers = new_array((size_t)runner->ranks, sizeof *stats->peers);
    for (int r = 0; r < runner->ranks; r++) {
        const struct peer_use *use = &test_case->peers[r];
        int lanes = test_case->engine.on_device ? 0 : use->lanes; /* of a transport */
        if (use->lanes == 0)
            continue;
        stats->peers[stats->count++] = (struct peer_stats){
            .peer = r, .lanes = lanes, .counted = use->shortest * element >= WAIT_STATS_LEAST};
        channels += 2 * (size_t)lanes;
    }
    sending_gather(stats, runner->start_barrier.schedule);
    channels += (size_t)(stats->sending_count - stats->count);
    stats->before = new_array(channels, sizeof *stats->before);
}

void link_stats_free(struct link_stats *stats)
{
    if (!stats)
        return;
    free(stats->peers);
    free(stats->before);
    free(stats->sending);
    free(stats);
}

void link_stats_note_bytes(struct link_stats *stats, const struct test_case *test_case)
{
    uint64_t element = test_case->candidate->datatype->size;
    for (int i = 0; stats && i < stats->count; i++) {
        const struct peer_use *use = &test_case->peers[stats->peers[i].peer];
        stats->peers[i].sent = use->sent * element;
        stats->peers[i].received = use->received * element;
    }
}

static void channel_read(struct links *links, int peer, int lane, bool sends,
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

static int compare_peers(const void *a, const void *b)
{
    const struct peer_stats *x = a, *y = b;
    uint64_t left = longer(x->busy, x->starved), right = longer(y->busy, y->starved);
    return left != right ? (left < right) - (left > right) : x->peer - y->peer;
}

int link_stats_sort(struct link_stats *stats)
{
    if (!stats)
        return 0;
    qsort(stats->peers, (size_t)stats->count, sizeof *stats->peers, compare_peers);
    return stats->count < LINK_STATS_MOST ? stats->count : LINK_STATS_MOST;
}

void link_stats_resent(const struct link_stats *stats, struct links *links, uint64_t *resent)
{
    for (int i = 0; i < stats->sending_count; i++) {
        const struct sending_lanes *sending = &stats->sending[i];
        resent[i] = 0;
        for (int lane = sending->first; lane < sending->end; lane++) {
            struct wait_stats out;
            channel_read(links, sending->peer, lane, true, &out);
            resent[i] += out.resent;
        }
    }
}

static void packets_count(struct peer_stats *peer, const struct wait_stats *now,
                          const struct wait_stats *before)
{
    peer->packets += packets_since(now->packets, before->packets);
    peer->resent += resent_since(now->resent, before->resent);
}

/* The packets of the start barrier's own lanes, to peers of the collective. */
static void start_count(struct link_stats *stats, struct links *links, struct wait_stats *before,
                        int sign)
{
    for (int i = stats->count; i < stats->sending_count; i++, before++) {
        const struct sending_lanes *sending = &stats->sending[i];
        struct wait_stats now;
        channel_read(links, sending->peer, sending->first, true, &now);
        for (int p = 0; p < stats->count && sign > 0; p++)
            if (stats->peers[p].peer == sending->peer)
                packets_count(&stats->peers[p], &now, before);
        if (sign < 0)
            *before = now;
    }
}

void link_stats_count(struct link_stats *stats, struct links *links, int sign)
{
    if (!stats)
        return;
    struct wait_stats *before = stats->before;
    for (int i = 0; i < stats->count; i++) {
        struct peer_stats *peer = &stats->peers[i];
        peer->counted &= links_transport(links, peer->peer)->wait_stats != NULL;
        for (int lane = 0; lane < peer->lanes; lane++, before += 2) {
            struct wait_stats out, in;
            channel_read(links, peer->peer, lane, true, &out);
            channel_read(links, peer->peer, lane, false, &in);
            if (sign < 0) {
                before[0] = out;
                before[1] = in;
                continue;
            }
            peer->busy = longer(peer->busy, out.busy - before[0].busy);
            packets_count(peer, &out, &before[0]);
            if (out.least_ns > 0 && (peer->least_ns == 0 || out.least_ns < peer->least_ns))
                peer->least_ns = out.least_ns;
            peer->starved = longer(peer->starved, in.starved - before[1].starved);
        }
    }
    start_count(stats, links, before, sign);
}
