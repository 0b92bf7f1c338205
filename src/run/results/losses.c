/*
 * losses.c - which connections lose packets, and which hosts they share.
 */
#include "run/results/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/numbers.h"
#include "base/text.h"

#define HOST_LEAST 2 /* lossy connections of a host */

/* Of a host in one direction, or of connections together. */
struct loss_tally {
    int connections, lossy;
    uint64_t packets, resent;
};

/* A connection between hosts. */
struct connection {
    int from, to; /* ranks */
    uint64_t packets, resent;
    bool lossy, explained; /* a host that is named explains it */
};

struct loss_case {
    const struct member *members;
    struct result *result;
    struct connection *connections;
    int count;
    double expected;        /* of a packet: that it is lost */
    double median;          /* share of those that are not lossy */
    struct loss_tally *out, *in; /* by node */
};

static void connections_gather(struct loss_case *given)
{
    const struct result *result = given->result;
    size_t most = 1;
    for (int r = 0; r < result->ranks; r++)
        most += (size_t)result->samples[r].peers;
    given->connections = new_array(most, sizeof *given->connections);
    for (int r = 0; r < result->ranks; r++)
        for (int i = 0; i < result->samples[r].peers; i++) {
            const struct peer_stats *peer = &result->samples[r].peer[i];
            if (peer->packets > 0 && given->members[r].node != given->members[peer->peer].node)
                given->connections[given->count++] = (struct connection){
                    .from = r, .to = peer->peer, .packets = peer->packets, .resent = peer->resent};
        }
}

static double share_of(uint64_t resent, uint64_t packets)
{
    return packets ? fmin((double)resent / (double)packets, 1) : 0;
}

static int compare_shares(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return COMPARE(x, y);
}

/* The share below which a part of 1 / `parts` lies, of all connections, or of those that are not
 * lossy. */
static double share_at(const struct loss_case *given, bool all, int parts)
{
    double *shares = new_array((size_t)given->count + 1, sizeof *shares);
    int count = 0;
    for (int i = 0; i < given->count; i++)
        if (all || !given->connections[i].lossy)
            shares[count++] = share_of(given->connections[i].resent, given->connections[i].packets);
    qsort(shares, (size_t)count, sizeof *shares, compare_shares);
    double share = count ? shares[(count - 1) / parts] : 0;
    free(shares);
    return share;
}

static bool is_lossy(uint64_t resent, uint64_t packets, double expected)
{
    double lost = expected * (double)packets;
    return share_of(resent, packets) >= LOSS_SHARE &&
           (double)resent >= LOSS_PACKETS + 3 * lost + 3 * sqrt(lost);
}

static void tally_add(struct loss_tally *tally, const struct connection *connection)
{
    tally->connections++;
    tally->lossy += connection->lossy;
    tally->packets += connection->packets;
    tally->resent += connection->resent;
}

static struct loss_tally tally_sum(const struct loss_tally *a, const struct loss_tally *b)
{
    return (struct loss_tally){.connections = a->connections + b->connections,
                               .lossy = a->lossy + b->lossy,
                               .packets = a->packets + b->packets,
                               .resent = a->resent + b->resent};
}

static bool tally_tells(const struct loss_tally *tally)
{
    return tally->lossy >= HOST_LEAST && tally->lossy * 5 >= tally->connections * 4;
}

/* Keeps those with the most packets, in order. */
static void loss_keep(struct result *result, const struct loss *loss)
{
    int at = result->loss_count;
    while (at > 0 && result->losses[at - 1].resent < loss->resent)
        at--;
    if (at == LOSSES_MOST)
        return;
    result->loss_count += result->loss_count < LOSSES_MOST;
    memmove(&result->losses[at + 1], &result->losses[at],
            (size_t)(result->loss_count - at - 1) * sizeof *loss);
    result->losses[at] = *loss;
}

/* A host whose connections are lossy in both directions alike, or in one. */
static void host_find(struct loss_case *given, int rank)
{
    int node = given->members[rank].node;
    const struct loss_tally *out = &given->out[node], *in = &given->in[node];
    struct loss_tally both = tally_sum(out, in);
    enum loss_kind kind = tally_tells(&both) ? LOSS_HOST
                          : tally_tells(out) ? LOSS_FROM
                          : tally_tells(in)  ? LOSS_TO
                                             : LOSS_CONNECTION;
    if (kind == LOSS_CONNECTION)
        return;
    const struct loss_tally *tally = kind == LOSS_HOST ? &both : kind == LOSS_FROM ? out : in;
    loss_keep(given->result, &(struct loss){.kind = kind,
                                            .from = -1,
                                            .to = -1,
                                            .host = rank,
                                            .packets = tally->packets,
                                            .resent = tally->resent});
    for (int i = 0; i < given->count; i++) {
        struct connection *one = &given->connections[i];
        one->explained |= (kind != LOSS_TO && given->members[one->from].node == node) ||
                          (kind != LOSS_FROM && given->members[one->to].node == node);
    }
}

/* Each host by its first rank. */
static void hosts_find(struct loss_case *given)
{
    size_t ranks = (size_t)given->result->ranks;
    given->out = new_array(ranks, sizeof *given->out);
    given->in = new_array(ranks, sizeof *given->in);
    bool *seen = new_array(ranks, sizeof *seen);
    for (int i = 0; i < given->count; i++) {
        const struct connection *one = &given->connections[i];
        tally_add(&given->out[given->members[one->from].node], one);
        tally_add(&given->in[given->members[one->to].node], one);
    }
    for (int r = 0; r < given->result->ranks; r++) {
        if (!seen[given->members[r].node])
            host_find(given, r);
        seen[given->members[r].node] = true;
    }
    free(seen);
    free(given->out);
    free(given->in);
}

static void put_share(struct text *text, double share)
{
    text_add(text, "%.2g %%", share * 100);
}

static void loss_word(const struct loss_case *given, struct loss *loss)
{
    struct text text = text_in(loss->text, sizeof loss->text);
    const struct member *members = given->members;
    put_share(&text, share_of(loss->resent, loss->packets));
    if (loss->kind == LOSS_ALL) {
        text_add(&text, " of all packets are sent again, on all connections alike");
        return;
    }
    text_add(&text, " of the packets ");
    if (loss->kind == LOSS_CONNECTION)
        text_add(&text, "from rank %d (%s) to rank %d (%s)", loss->from, members[loss->from].host,
                 loss->to, members[loss->to].host);
    else
        text_add(&text, "%s host %s",
                 loss->kind == LOSS_FROM ? "from"
                 : loss->kind == LOSS_TO ? "to"
                                         : "from and to",
                 members[loss->host].host);
    text_add(&text, " are sent again, the others' median is ");
    put_share(&text, given->median);
}

/* No connection is beyond the others. */
static void all_find(struct loss_case *given)
{
    struct loss_tally all = {.connections = 0};
    for (int i = 0; i < given->count; i++)
        tally_add(&all, &given->connections[i]);
    if (is_lossy(all.resent, all.packets, 0) && given->expected >= LOSS_SHARE)
        loss_keep(given->result, &(struct loss){.kind = LOSS_ALL,
                                                .from = -1,
                                                .to = -1,
                                                .host = -1,
                                                .packets = all.packets,
                                                .resent = all.resent});
}

void result_find_losses(const struct member *members, struct result *result)
{
    struct loss_case given = {.members = members, .result = result};
    connections_gather(&given);
    given.expected = share_at(&given, true, 4);
    for (int i = 0; i < given.count; i++) {
        struct connection *one = &given.connections[i];
        one->lossy = is_lossy(one->resent, one->packets, given.expected);
    }
    given.median = share_at(&given, false, 2);
    hosts_find(&given);
    for (int i = 0; i < given.count; i++) {
        const struct connection *one = &given.connections[i];
        if (one->lossy && !one->explained)
            loss_keep(result, &(struct loss){.kind = LOSS_CONNECTION,
                                             .from = one->from,
                                             .to = one->to,
                                             .host = -1,
                                             .packets = one->packets,
                                             .resent = one->resent});
    }
    all_find(&given);
    for (int i = 0; i < result->loss_count; i++)
        loss_word(&given, &result->losses[i]);
    free(given.connections);
}
