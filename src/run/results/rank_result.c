/*
 * rank_result.c - one rank's samples, finding and traffic of a line.
 */
#include "run/results/results.h"

#include "base/list.h"
#include "base/log.h"
#include "collective/schedule/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The transports that carry the line. What devices move counts as one transport's, whatever links
 * the ranks have besides. */
static void rank_result_carriers(struct rank_result *rank_result, struct runner *runner,
                                 const struct peer_use *peers)
{
    struct endpoint *endpoint;
    bool on_device = rank_result->engine->on_device;
    if (on_device)
        rank_result->transport[rank_result->transports++] = runner->devices.config.transport;
    for (int i = 0; !on_device && (endpoint = links_endpoint(runner->links, i)); i++)
        rank_result->transport[rank_result->transports++] = endpoint->transport->name;
    for (int peer = 0; peer < runner->ranks; peer++)
        for (int i = 0; peers[peer].lanes > 0 && i < rank_result->transports; i++)
            rank_result->used[i] |= on_device || links_endpoint(runner->links, i)->transport ==
                                                     links_transport(runner->links, peer);
}

size_t rank_result_bytes(const struct job *job)
{
    const size_t arrays = 2, sorted = 1; /* qsort() may copy the one that it sorts */
    size_t steps = job->compares && job->bootstrap.verbosity >= 1 ? STEP_TIMES_BYTES : 0;
    return (size_t)job->iterations * (arrays + sorted) * sizeof(uint64_t) + steps;
}

enum status rank_result_create(const struct job *job, const struct test_case *test_case, int choice,
                               size_t bytes, struct runner *runner, struct rank_result **made)
{
    struct rank_result *rank_result = new_array(1, sizeof *rank_result);
    *made = rank_result;
    rank_result->choice = choice;
    rank_result->bytes = bytes;
    rank_result->problem = test_case->sized.problem;
    rank_result->channels =
        test_case->candidate->choice.algorithm->vendor ? 0 : test_case->channels;
    rank_result->engine = &test_case->engine;
    rank_result_carriers(rank_result, runner, test_case->peers);
    for (int peer = 0; peer < runner->ranks; peer++) {
        bool is_used = test_case->peers[peer].lanes > 0;
        rank_result->stages |= is_used && links_stages(runner->links, peer);
        rank_result->direct |= is_used && !links_stages(runner->links, peer);
    }
    TRY(step_times_create(&test_case->clock, &rank_result->steps));
    if (job->watches)
        link_stats_create(test_case, runner, &rank_result->links);
    return STATUS_OK;
}

/* False: out of memory. */
static bool samples_grow(uint64_t **samples, size_t count)
{
    uint64_t *more = realloc(*samples, count * sizeof *more);
    if (more)
        *samples = more;
    return more != NULL;
}

enum status rank_result_reserve(struct rank_result *rank_result, long more)
{
    size_t count = (size_t)(rank_result->iterations + more) + 1; /* not 0 */
    if (samples_grow(&rank_result->samples, count) && samples_grow(&rank_result->late, count) &&
        (!rank_result->engine->on_device || samples_grow(&rank_result->device_samples, count)))
        return STATUS_OK;
    return fail(STATUS_ERROR, "out of memory for %zu samples: ask for fewer iterations (-n)",
                count - 1);
}

void rank_result_free(struct rank_result *rank_result)
{
    if (!rank_result)
        return;
    free(rank_result->samples);
    free(rank_result->late);
    free(rank_result->device_samples);
    link_stats_free(rank_result->links);
    step_times_free(rank_result->steps);
    device_changes_free(&rank_result->changes);
    free(rank_result);
}

/* Findings. */

/* An element came to this rank by `arrival`, and is wrong. If the result of the rank that sent
 * it is right, was it right when it was sent? Only if that result holds the element too, or the
 * element is the sender's own. */
static bool sender_holds_element(const struct schedule *schedule, const struct operation *arrival,
                                 size_t element)
{
    struct expectation expectation;
    if (arrival->kind != OPERATION_RECV)
        return false;
    if (collective_is_uniform(schedule->problem.collective))
        return true;
    for (int i = 0; collective_expects(&schedule->problem, schedule->rank, i, &expectation); i++)
        if (element - expectation.at < expectation.length)
            return expectation.rank == problem_rank(&schedule->problem, arrival->peer);
    return false;
}

static void rank_result_note(struct rank_result *rank_result, const struct finding *finding)
{
    if (rank_result->finding.kind == FINDING_NONE)
        rank_result->finding = *finding;
    rank_result->wrong += finding->wrong;
}

void rank_result_note_finding(struct rank_result *rank_result, const struct finding *finding,
                              const struct schedule *schedule)
{
    if (finding->kind == FINDING_NONE)
        return;
    struct finding noted = *finding;
    int arrival = provenance_of(schedule, finding->first.at);
    if (arrival >= 0 &&
        sender_holds_element(schedule, &schedule->operations[arrival], finding->first.at)) {
        noted.hop_peer = problem_rank(&schedule->problem, schedule->operations[arrival].peer);
        noted.hop_step = schedule->operations[arrival].step;
    }
    rank_result_note(rank_result, &noted);
}

void rank_result_note_source(struct rank_result *rank_result, size_t changed, uint64_t iteration)
{
    if (changed > 0)
        rank_result_note(rank_result, &(struct finding){.kind = FINDING_SOURCE,
                                                        .iteration = iteration,
                                                        .wrong = changed,
                                                        .hop_peer = -1});
}

void rank_result_note_overrun(struct rank_result *rank_result, const struct overrun *overrun,
                              uint64_t iteration)
{
    rank_result_note(rank_result, &(struct finding){.kind = FINDING_OVERRUN,
                                                    .iteration = iteration,
                                                    .wrong = 1,
                                                    .overrun = *overrun,
                                                    .hop_peer = -1});
}

void rank_result_note_times(struct rank_result *rank_result, const struct iteration_times *times)
{
    long i = rank_result->iterations++;
    rank_result->late[i] = times->late;
    rank_result->samples[i] = times->duration;
    step_times_note(rank_result->steps, times->released);
    if (rank_result->device_samples)
        rank_result->device_samples[i] = times->device;
}

/* Traffic. */

static void rank_result_traffic_add(struct rank_result *rank_result, const struct runner *runner,
                                    int sign)
{
    struct endpoint *endpoint;
    if (rank_result->engine->on_device) {
        traffic_add(&rank_result->traffic[0], &runner->devices.traffic, sign);
        return;
    }
    for (int i = 0; (endpoint = links_endpoint(runner->links, i)); i++) {
        traffic_add(&rank_result->traffic[i], &endpoint->traffic, sign);
        traffic_add(&rank_result->traffic[i], &runner->start_traffic[i], -sign);
    }
}

void rank_result_begin(struct rank_result *rank_result, struct runner *runner)
{
    runner->profile = (struct profile){0};
    link_stats_count(rank_result->links, runner->links, -1);
    rank_result_traffic_add(rank_result, runner, -1);
}

void rank_result_end(struct rank_result *rank_result, const struct runner *runner)
{
    rank_result_traffic_add(rank_result, runner, +1);
    link_stats_count(rank_result->links, runner->links, +1);
    for (int a = 0; a < ACTIVITIES; a++)
        rank_result->shares[a] += runner->profile.shares[a];
}

enum status rank_result_check_copy(const struct rank_result *rank_result, const struct job *job)
{
    static const enum path only[] = {
        [COPY_BCOPY] = PATH_BCOPY, [COPY_ZCOPY] = PATH_ZCOPY, [COPY_LL] = PATH_LL};
    uint64_t bytes[PATHS] = {0}, other = 0;
    for (int i = 0; i < rank_result->transports; i++)
        for (int path = 0; path < PATHS; path++)
            bytes[path] +=
                rank_result->traffic[i].received[path] + rank_result->traffic[i].sent[path];
    for (int path = 0; path < PATHS && job->copy != COPY_AUTO; path++)
        other += path == (int)only[job->copy] ? 0 : bytes[path];
    if (other == 0)
        return STATUS_OK;
    return fail_option(
        STATUS_ERROR, "copy",
        "--copy %s was asked for, but %llu bytes went another way (line %llu, bcopy %llu, "
        "zcopy %llu, ll %llu)",
        copy_names[job->copy], (unsigned long long)other, (unsigned long long)bytes[PATH_LINE],
        (unsigned long long)bytes[PATH_BCOPY], (unsigned long long)bytes[PATH_ZCOPY],
        (unsigned long long)bytes[PATH_LL]);
}

/*
 * A rank's result of a line as it travels to rank 0, and as rank 0 reads it.
 */
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
    summary->peer = new_array(peers, sizeof *summary->peer);
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
    summary->step = new_array(steps, sizeof *summary->step);
    for (uint32_t i = 0; i < steps && !reader->bad; i++)
        summary->step[summary->steps++] = read_double(reader);
}

static bool summary_decode(void *argument, int rank, struct reader *reader)
{
    struct rank_summaries *summaries = argument;
    int ranks = summaries->count;
    struct rank_summary *summary = &summaries->items[rank];
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
    *summaries =
        (struct rank_summaries){.items = new_array((size_t)blobs->count, sizeof *summaries->items),
                                .count = blobs->count,
                                .group_ranks = group_ranks};
    return blobs_read(blobs, 0, "result", summary_decode, summaries);
}

void rank_summaries_free(struct rank_summaries *summaries)
{
    for (int r = 0; r < summaries->count; r++) {
        free(summaries->items[r].peer);
        free(summaries->items[r].step);
        device_changes_free(&summaries->items[r].changes);
    }
    free(summaries->items);
    *summaries = (struct rank_summaries){0};
}
