/*
 * stats.c - what a lane waited for, and what it does while nothing moves.
 *
 * The NIC sends again by itself and keeps no count per queue pair, so `resent` stays 0: the
 * counters of the port tell it.
 */
#include "transports/verbs/internal.h"

#include "base/clock.h"

void verbs_busy_begin(struct verbs_sender *out)
{
    if (out->base.endpoint->config.watches && !out->busy_since)
        out->busy_since = clock_ns();
}

void verbs_busy_end(struct verbs_sender *out)
{
    if (out->busy_since)
        out->busy += clock_ns() - out->busy_since;
    out->busy_since = 0;
}

void verbs_starve_note(struct verbs_receiver *in, bool moved)
{
    const struct transfer *first = in->base.first;
    bool waits = in->base.endpoint->watched && !moved && first &&
                 first->length >= WAIT_STATS_LEAST && first->issued < first->limit;
    if (waits && !in->starved_since)
        in->starved_since = clock_ns();
    if (waits || !in->starved_since)
        return;
    in->starved += clock_ns() - in->starved_since;
    in->starved_since = 0;
}

void verbs_wait_stats(const struct channel *base, struct wait_stats *wait_stats)
{
    *wait_stats = (struct wait_stats){0};
    if (base->sends)
        wait_stats->busy = ((const struct verbs_sender *)base)->busy;
    else
        wait_stats->starved = ((const struct verbs_receiver *)base)->starved;
}

static void pair_note(struct verbs_pair *pair)
{
    pair->stalled =
        pair->posted != pair->retired + pair->unsignaled && pair->retired == pair->seen_retired;
    pair->seen_retired = pair->retired;
}

void verbs_stalls_note(struct verbs_endpoint *endpoint)
{
    for (int rank = 0; rank < endpoint->base.config.ranks; rank++)
        for (struct verbs_pair *pair = NULL;
             (pair = verbs_peer_next(&endpoint->peers[rank], pair));)
            pair_note(pair);
}

/* A request that asked for a completion, and has none since the check() before, is not
 * acknowledged. */
void verbs_idle_report(const struct endpoint *base, struct idle_report *idle)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)base;
    for (int rank = 0; rank < base->config.ranks; rank++)
        for (const struct verbs_pair *pair = NULL;
             (pair = verbs_peer_next(&endpoint->peers[rank], pair));)
            if (pair->stalled && idle->unheard < 0)
                idle->unheard = rank;
    idle->arrived += endpoint->arrived;
}
