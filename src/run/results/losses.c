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

#define PARTNERS_LEAST    2 /* hosts that lossy connections lead to, of a host */
#define CONNECTIONS_LEAST 2 /* lossy ones between two hosts */

/* The counts of a host in one direction, or of connections together. */
struct loss_tally {
    int connections, lossy;
    int partners; /* of a host: with lossy connections */
    uint64_t packets, resent;
};

/* A connection between hosts. */
struct connection {
    int from, to; /* ranks */
    int nodes[2]; /* of the two, the lower first */
    int way;      /* 0: from the lower node to the higher one; 1: back */
    uint64_t packets, resent;
    bool lossy, explained; /* a host that is named explains it */
};

struct loss_case {
    const struct member *members;
    struct result *result;
    struct connection *connections;
    int count;
    double expected;                    /* of a packet: that it is lost */
    double median;                      /* share of those that are not lossy */
    struct loss_tally *out, *in, *both; /* by node */
};

/* Connections between the same two hosts come in a row. */
static int compare_connections(const void *a, const void *b)
{
    const struct connection *x = a, *y = b;
    return x->nodes[0] != y->nodes[0]   ? COMPARE(x->nodes[0], y->nodes[0])
           : x->nodes[1] != y->nodes[1] ? COMPARE(x->nodes[1], y->nodes[1])
           : x->from != y->from         ? COMPARE(x->from, y->from)
                                        : COMPARE(x->to, y->to);
}

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
            int from = given->members[r].node, to = given->members[peer->peer].node;
            bool used = peer->packets > 0 && peer->sent > 0; /* not by a barrier's tokens alone */
            if (used && from != to)
                given->connections[given->count++] =
                    (struct connection){.from = r,
                                        .to = peer->peer,
                                        .nodes = {from < to ? from : to, from < to ? to : from},
                                        .way = from > to,
                                        .packets = peer->packets,
                                        .resent = peer->resent};
        }
    qsort(given->connections, (size_t)given->count, sizeof *given->connections,
          compare_connections);
}

static double share_of(uint64_t resent, uint64_t packets)
{
    return packets ? fmin((double)resent / (double)packets, 1) : 0;
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
    qsort(shares, (size_t)count, sizeof *shares, compare_doubles);
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

/* Adds the connections with one partner host. */
static void tally_add_partner(struct loss_tally *tally, const struct loss_tally *partner)
{
    tally->connections += partner->connections;
    tally->lossy += partner->lossy;
    tally->partners += partner->lossy > 0;
    tally->packets += partner->packets;
    tally->resent += partner->resent;
}

static struct loss_tally tally_sum(const struct loss_tally *a, const struct loss_tally *b)
{
    return (struct loss_tally){.connections = a->connections + b->connections,
                               .lossy = a->lossy + b->lossy,
                               .packets = a->packets + b->packets,
                               .resent = a->resent + b->resent};
}

static bool most_are_lossy(const struct loss_tally *tally)
{
    return tally->lossy * 5 >= tally->connections * 4;
}

static bool host_is_lossy(const struct loss_tally *tally)
{
    return tally->partners >= PARTNERS_LEAST && most_are_lossy(tally);
}

static bool pair_is_lossy(const struct loss_tally *tally)
{
    return tally->lossy >= CONNECTIONS_LEAST && most_are_lossy(tally);
}

/* The connections between two hosts, from number `at` on, by their way: those that nothing explains
 * yet. Returns the number of the next pair's first. */
static int pair_tally(const struct loss_case *given, int at, struct loss_tally way[2])
{
    const int *nodes = given->connections[at].nodes;
    way[0] = way[1] = (struct loss_tally){.connections = 0};
    for (; at < given->count; at++) {
        const struct connection *one = &given->connections[at];
        if (one->nodes[0] != nodes[0] || one->nodes[1] != nodes[1])
            break;
        if (!one->explained)
            tally_add(&way[one->way], one);
    }
    return at;
}

/* Keeps those with the most packets, in order. */
static void loss_keep(struct result *result, const struct loss *loss)
{
    int kept = result->loss_count < LOSSES_MOST ? result->loss_count : LOSSES_MOST, at = kept;
    result->loss_count++;
    while (at > 0 && result->losses[at - 1].resent < loss->resent)
        at--;
    if (at == LOSSES_MOST)
        return;
    int behind = (kept < LOSSES_MOST ? kept : LOSSES_MOST - 1) - at;
    memmove(&result->losses[at + 1], &result->losses[at], (size_t)behind * sizeof *loss);
    result->losses[at] = *loss;
}

/* A host whose connections are lossy in both directions alike, or in one. */
static void host_find(struct loss_case *given, int rank)
{
    int node = given->members[rank].node;
    const struct loss_tally *out = &given->out[node], *in = &given->in[node];
    const struct loss_tally *both = &given->both[node];
    enum loss_kind kind = host_is_lossy(both)  ? LOSS_HOST
                          : host_is_lossy(out) ? LOSS_FROM
                          : host_is_lossy(in)  ? LOSS_TO
                                               : LOSS_LINK;
    if (kind == LOSS_LINK)
        return;
    const struct loss_tally *tally = kind == LOSS_HOST ? both : kind == LOSS_FROM ? out : in;
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
    struct loss_tally way[2];
    given->out = new_array(ranks, sizeof *given->out);
    given->in = new_array(ranks, sizeof *given->in);
    given->both = new_array(ranks, sizeof *given->both);
    bool *seen = new_array(ranks, sizeof *seen);
    for (int i = 0; i < given->count;) {
        const int *nodes = given->connections[i].nodes;
        i = pair_tally(given, i, way);
        struct loss_tally both = tally_sum(&way[0], &way[1]);
        for (int end = 0; end < 2; end++) {
            tally_add_partner(&given->out[nodes[end]], &way[end]);
            tally_add_partner(&given->in[nodes[end]], &way[!end]);
            tally_add_partner(&given->both[nodes[end]], &both);
        }
    }
    for (int r = 0; r < given->result->ranks; r++) {
        if (!seen[given->members[r].node])
            host_find(given, r);
        seen[given->members[r].node] = true;
    }
    free(seen);
    free(given->out);
    free(given->in);
    free(given->both);
}

static void pair_keep(struct loss_case *given, enum loss_kind kind, int begin, int end, int way,
                      const struct loss_tally *tally)
{
    struct loss loss = {
        .kind = kind, .from = -1, .host = -1, .packets = tally->packets, .resent = tally->resent};
    for (int i = begin; i < end; i++) {
        struct connection *one = &given->connections[i];
        if (kind == LOSS_PAIR_FROM && one->way != way)
            continue;
        one->explained = true;
        if (loss.from < 0) {
            loss.from = one->from;
            loss.to = one->to;
        }
    }
    loss_keep(given->result, &loss);
}

/* Pairs of hosts whose connections are lossy in both directions, or in one: which of the two is to
 * blame is not known. */
static void pairs_find(struct loss_case *given)
{
    struct loss_tally way[2];
    for (int begin = 0, end; begin < given->count; begin = end) {
        end = pair_tally(given, begin, way);
        struct loss_tally both = tally_sum(&way[0], &way[1]);
        if (pair_is_lossy(&both)) {
            pair_keep(given, LOSS_PAIR, begin, end, 0, &both);
            continue;
        }
        for (int w = 0; w < 2; w++)
            if (pair_is_lossy(&way[w]))
                pair_keep(given, LOSS_PAIR_FROM, begin, end, w, &way[w]);
    }
}

static void put_share(struct text *text, double share)
{
    double percent = share * 100;
    text_add(text, percent < 99.5 ? "%.2g %%" : "%.3g %%", percent);
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
    if (loss->kind == LOSS_LINK)
        text_add(&text, "from rank %d (%s) to rank %d (%s)", loss->from, members[loss->from].host,
                 loss->to, members[loss->to].host);
    else if (loss->kind == LOSS_PAIR)
        text_add(&text, "between hosts %s and %s", members[loss->from].host,
                 members[loss->to].host);
    else if (loss->kind == LOSS_PAIR_FROM)
        text_add(&text, "from host %s to host %s", members[loss->from].host,
                 members[loss->to].host);
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
    pairs_find(&given);
    for (int i = 0; i < given.count; i++) {
        const struct connection *one = &given.connections[i];
        if (one->lossy && !one->explained)
            loss_keep(result, &(struct loss){.kind = LOSS_LINK,
                                             .from = one->from,
                                             .to = one->to,
                                             .host = -1,
                                             .packets = one->packets,
                                             .resent = one->resent});
    }
    all_find(&given);
    for (int i = 0; i < LOSSES_MOST && i < result->loss_count; i++)
        loss_word(&given, &result->losses[i]);
    free(given.connections);
}
