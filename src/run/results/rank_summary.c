/*
 * rank_summary.c - a rank's result of a line as it travels to rank 0, and as rank 0 reads it.
 */
#include "run/results/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/stats/stats.h"

#define TRANSPORT_NAME_MOST 16

/* Encoding. */

static void put_double(struct bytes *bytes, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bytes_put_u64(bytes, bits);
}

static void traffic_encode(const struct traffic *traffic, struct bytes *bytes)
{
    for (int path = 0; path < PATHS; path++) {
        bytes_put_u64(bytes, traffic->received[path]);
        bytes_put_u64(bytes, traffic->sent[path]);
    }
    bytes_put_u64(bytes, traffic->copied_sending);
    bytes_put_u64(bytes, traffic->copied_receiving);
}

static void peer_encode(const struct peer_stats *peer, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)peer->peer);
    bytes_put_u32(bytes, peer->counted);
    bytes_put_u64(bytes, peer->sent);
    bytes_put_u64(bytes, peer->received);
    bytes_put_u64(bytes, peer->starved);
    bytes_put_u64(bytes, peer->busy);
    bytes_put_u64(bytes, peer->resent);
}

static void steps_encode(struct step_times *steps, const struct tick *tick, struct bytes *bytes)
{
    int count = step_times_count(steps);
    bytes_put_u32(bytes, (uint32_t)count);
    for (int i = 0; i < count; i++)
        put_double(bytes, step_times_median(steps, i, tick));
}

void rank_summary_encode(struct rank_result *rank_result, const struct job *job,
                         const struct tick *tick, struct bytes *bytes)
{
    size_t iterations = (size_t)rank_result->iterations;
    int peers = link_stats_sort(rank_result->links);
    times_sort(rank_result->late, iterations, tick);
    bytes_put_u64(bytes, rank_result->wrong);
    bytes_put_u64(bytes, iterations ? rank_result->late[iterations / 2] : 0);
    for (int a = 0; a < ACTIVITIES; a++)
        put_double(bytes, rank_result->shares[a]);
    finding_encode(&rank_result->finding, bytes);
    bytes_put_u32(bytes, rank_result->stages);
    bytes_put_u32(bytes, rank_result->direct);
    bytes_put_u32(bytes, (uint32_t)rank_result->transports);
    for (int i = 0; i < rank_result->transports; i++) {
        bytes_put_text(bytes, rank_result->transport[i]);
        bytes_put_u32(bytes, rank_result->used[i]);
        traffic_encode(&rank_result->traffic[i], bytes);
    }
    bytes_put_u32(bytes, (uint32_t)peers);
    for (int i = 0; i < peers; i++)
        peer_encode(&rank_result->links->peers[i], bytes);
    bool asked = job->profile || job->watches;
    put_double(bytes, asked ? statistics_of(rank_result->samples, iterations, tick).p50 : 0);
    steps_encode(rank_result->steps, tick, bytes);
    device_changes_encode(&rank_result->changes, job->watches ? COUNTER_CLASSES : COUNTER_SICK + 1,
                          bytes);
}

/* Decoding. */

static double read_double(struct reader *reader)
{
    uint64_t bits = read_u64(reader);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value) && value >= 0)
        return value;
    reader->bad = true;
    return 0;
}

static void traffic_decode(struct reader *reader, struct traffic *traffic)
{
    for (int path = 0; path < PATHS; path++) {
        traffic->received[path] = read_u64(reader);
        traffic->sent[path] = read_u64(reader);
    }
    traffic->copied_sending = read_u64(reader);
    traffic->copied_receiving = read_u64(reader);
}

static void transports_decode(struct reader *reader, struct rank_summary *summary)
{
    uint32_t count = read_u32(reader);
    reader->bad |= count > TRANSPORTS_MOST;
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        struct transport_use *use = &summary->transport[summary->transports++];
        char name[TRANSPORT_NAME_MOST];
        read_text(reader, name, sizeof name);
        use->transport = transport_find(name);
        use->used = read_u32(reader) != 0;
        traffic_decode(reader, &use->traffic);
        reader->bad |= use->transport == NULL;
    }
}

static void peers_decode(struct reader *reader, int ranks, struct rank_summary *summary)
{
    uint32_t peers = read_u32(reader);
    reader->bad |= peers > LINK_STATS_MOST;
    if (reader->bad || peers == 0)
        return;
    summary->peer = calloc(peers, sizeof *summary->peer);
    if (!summary->peer)
        fail(STATUS_ERROR, "out of memory for the link statistics of %u peers", peers);
    reader->bad |= summary->peer == NULL;
    for (uint32_t i = 0; i < peers && !reader->bad; i++) {
        struct peer_stats *peer = &summary->peer[summary->peers++];
        peer->peer = (int32_t)read_u32(reader);
        peer->counted = read_u32(reader) != 0;
        peer->sent = read_u64(reader);
        peer->received = read_u64(reader);
        peer->starved = read_u64(reader);
        peer->busy = read_u64(reader);
        peer->resent = read_u64(reader);
        reader->bad |= peer->peer < 0 || peer->peer >= ranks;
    }
}

static void steps_decode(struct reader *reader, struct rank_summary *summary)
{
    uint32_t steps = read_u32(reader);
    reader->bad |= steps > CLOCK_STEPS_MOST;
    if (reader->bad || steps == 0)
        return;
    summary->step = calloc(steps, sizeof *summary->step);
    if (!summary->step)
        fail(STATUS_ERROR, "out of memory for the times of %u steps", steps);
    reader->bad |= summary->step == NULL;
    for (uint32_t i = 0; i < steps && !reader->bad; i++)
        summary->step[summary->steps++] = read_double(reader);
}

static bool summary_decode(void *argument, int rank, struct reader *reader)
{
    struct rank_summaries *summaries = argument;
    int ranks = summaries->count;
    struct rank_summary *summary = &summaries->of[rank];
    summary->wrong = read_u64(reader);
    summary->late = read_u64(reader);
    for (int a = 0; a < ACTIVITIES; a++)
        summary->shares[a] = read_double(reader);
    if (!finding_decode(reader, summaries->group_ranks, &summary->finding))
        return false;
    summary->stages = read_u32(reader) != 0;
    summary->direct = read_u32(reader) != 0;
    transports_decode(reader, summary);
    peers_decode(reader, ranks, summary);
    summary->duration = read_double(reader);
    steps_decode(reader, summary);
    if (!device_changes_decode(&summary->changes, reader))
        return false;
    return (summary->wrong > 0) == (summary->finding.kind != FINDING_NONE);
}

enum status rank_summaries_decode(const struct blobs *blobs, int group_ranks,
                                  struct rank_summaries *summaries)
{
    *summaries = (struct rank_summaries){.of = calloc((size_t)blobs->count, sizeof *summaries->of)};
    if (!summaries->of)
        return fail(STATUS_ERROR, "out of memory for the results of %d ranks", blobs->count);
    summaries->count = blobs->count;
    summaries->group_ranks = group_ranks;
    return blobs_read(blobs, 0, "result", summary_decode, summaries);
}

void rank_summaries_free(struct rank_summaries *summaries)
{
    for (int r = 0; r < summaries->count; r++) {
        free(summaries->of[r].peer);
        free(summaries->of[r].step);
        device_changes_free(&summaries->of[r].changes);
    }
    free(summaries->of);
    *summaries = (struct rank_summaries){0};
}
