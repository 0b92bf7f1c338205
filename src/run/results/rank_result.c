/*
 * rank_result.c - one rank's samples, finding and traffic of a line.
 */
#include "run/results/internal.h"

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
        rank_result->transport[rank_result->transports++] =
            transport_find(runner->devices.config.transport);
    for (int i = 0; !on_device && (endpoint = links_endpoint(runner->links, i)); i++)
        rank_result->transport[rank_result->transports++] = endpoint->transport;
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
    if (job->watches) {
        link_stats_create(test_case, runner, &rank_result->links);
        incidents_create(rank_result->links, runner->links, &rank_result->incidents);
    }
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
    incidents_free(rank_result->incidents);
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
    evidence_log_add(&rank_result->evidence, &finding->evidence);
}

void rank_result_note_source(struct rank_result *rank_result, size_t changed, uint64_t iteration)
{
    rank_result->evidence.source_changed |= changed > 0;
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
    if (times->waited >= 0) {
        rank_result->core_wait.looked++;
        rank_result->core_wait.shares += fmin(1, (double)times->waited / (double)times->duration);
    }
    step_times_note(rank_result->steps, times->released);
    if (rank_result->device_samples)
        rank_result->device_samples[i] = times->device;
    if (rank_result->incidents)
        incidents_note(rank_result->incidents, i, times);
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
    incidents_begin(rank_result->incidents, rank_result->iterations);
}

void rank_result_end(struct rank_result *rank_result, const struct runner *runner)
{
    rank_result_traffic_add(rank_result, runner, +1);
    link_stats_count(rank_result->links, runner->links, +1);
    for (int a = 0; a < ACTIVITIES; a++)
        rank_result->shares[a] += runner->profile.shares[a];
}

void rank_result_settle(struct rank_result *rank_result)
{
    incidents_end(rank_result->incidents);
}

void rank_result_resume(struct rank_result *rank_result)
{
    incidents_resume(rank_result->incidents);
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

static void traffic_code(struct codec codec, struct traffic *traffic)
{
    for (int path = 0; path < PATHS; path++) {
        code_u64(codec, &traffic->received[path]);
        code_u64(codec, &traffic->sent[path]);
    }
    code_u64(codec, &traffic->copied_sending);
    code_u64(codec, &traffic->copied_receiving);
}

static void use_code(struct codec codec, struct transport_use *use)
{
    char name[TRANSPORT_NAME_MOST];
    if (codec.out)
        snprintf(name, sizeof name, "%s", use->transport->name);
    code_text(codec, name, sizeof name);
    use->transport = transport_find(name);
    code_require(codec, use->transport != NULL);
    code_flag(codec, &use->used);
    traffic_code(codec, &use->traffic);
}

static void peer_code(struct codec codec, int ranks, struct peer_stats *peer)
{
    code_int(codec, &peer->peer, 0, ranks - 1);
    code_flag(codec, &peer->counted);
    code_u64(codec, &peer->sent);
    code_u64(codec, &peer->received);
    code_u64(codec, &peer->starved);
    code_u64(codec, &peer->busy);
    code_u64(codec, &peer->packets);
    code_u64(codec, &peer->resent);
    code_u64(codec, &peer->least_ns);
}

/* The summary up to the counters of devices, which come behind. */
static void summary_code(struct codec codec, int ranks, int group_ranks,
                         struct rank_summary *summary)
{
    code_u64(codec, &summary->wrong);
    code_u64(codec, &summary->late);
    for (int a = 0; a < ACTIVITIES; a++)
        code_real(codec, &summary->shares[a]);
    finding_code(codec, group_ranks, &summary->finding);
    evidence_log_code(codec, group_ranks, &summary->evidence);
    code_require(codec, (summary->wrong > 0) == (summary->finding.kind != FINDING_NONE));
    code_flag(codec, &summary->stages);
    code_flag(codec, &summary->direct);
    code_int(codec, &summary->transports, 0, TRANSPORTS_MOST);
    for (int i = 0; i < summary->transports; i++)
        use_code(codec, &summary->transport[i]);
    code_int(codec, &summary->peers, 0, LINK_STATS_MOST);
    if (codec.in)
        summary->peer = new_array((size_t)summary->peers, sizeof *summary->peer);
    for (int i = 0; i < summary->peers; i++)
        peer_code(codec, ranks, &summary->peer[i]);
    code_int(codec, &summary->incident_count, 0, INCIDENTS_MOST);
    if (codec.in)
        summary->incidents = new_array((size_t)summary->incident_count, sizeof *summary->incidents);
    for (int i = 0; i < summary->incident_count; i++)
        incident_code(codec, ranks, &summary->incidents[i]);
    code_real(codec, &summary->duration);
    code_flag(codec, &summary->core_wait_is_known);
    code_real(codec, &summary->core_wait);
    code_int(codec, &summary->steps, 0, CLOCK_STEPS_MOST);
    if (codec.in)
        summary->step = new_array((size_t)summary->steps, sizeof *summary->step);
    for (int i = 0; i < summary->steps; i++)
        code_real(codec, &summary->step[i]);
}

/* A mean of shares, so that one long stall counts for one iteration, as in the median of their
 * times; an iteration without a look counts as one without a wait. -1: it looked in fewer than half
 * of them, or a device or a vendor's library ran them, for which this thread moves no bytes. */
static double core_wait_share(const struct rank_result *rank_result)
{
    const struct core_wait *wait = &rank_result->core_wait;
    if (wait->looked == 0 || 2 * wait->looked < rank_result->iterations)
        return -1;
    if (rank_result->engine->on_device || rank_result->channels == 0)
        return -1;
    return wait->shares / (double)rank_result->iterations;
}

void rank_summary_encode(struct rank_result *rank_result, const struct job *job,
                         struct run_watch *watch, const struct tick *tick, struct bytes *bytes)
{
    struct incident incidents[INCIDENTS_MOST];
    int incident_count = incidents_list(rank_result->incidents, watch, incidents);
    size_t iterations = (size_t)rank_result->iterations;
    struct link_stats *links = rank_result->links;
    bool asked = job->profile || job->watches;
    times_sort(rank_result->late, iterations, tick);
    struct rank_summary summary = {
        .wrong = rank_result->wrong,
        .late = iterations ? rank_result->late[iterations / 2] : 0,
        .finding = rank_result->finding,
        .evidence = rank_result->evidence,
        .stages = rank_result->stages,
        .direct = rank_result->direct,
        .transports = rank_result->transports,
        .peers = link_stats_sort(links),
        .peer = links ? links->peers : NULL,
        .incident_count = incident_count,
        .incidents = incidents,
        .duration = asked ? statistics_of(rank_result->samples, iterations, tick).p50 : 0,
        .core_wait_is_known = core_wait_share(rank_result) >= 0,
        .core_wait = fmax(0, core_wait_share(rank_result)),
        .steps = step_times_count(rank_result->steps)};
    memcpy(summary.shares, rank_result->shares, sizeof summary.shares);
    for (int i = 0; i < summary.transports; i++)
        summary.transport[i] = (struct transport_use){.transport = rank_result->transport[i],
                                                      .used = rank_result->used[i],
                                                      .traffic = rank_result->traffic[i]};
    summary.step = new_array((size_t)summary.steps, sizeof *summary.step);
    for (int i = 0; i < summary.steps; i++)
        summary.step[i] = step_times_median(rank_result->steps, i, tick);
    summary_code(codec_to(bytes), 0, 0, &summary);
    device_changes_encode(&rank_result->changes,
                          job->watches ? COUNTER_CLASSES : COUNTER_FAULTY + 1, bytes);
    free(summary.step);
}

static bool summary_decode(void *argument, int rank, struct reader *reader)
{
    struct rank_summaries *summaries = argument;
    struct rank_summary *summary = &summaries->items[rank];
    summary_code(codec_from(reader), summaries->count, summaries->group_ranks, summary);
    return device_changes_decode(&summary->changes, reader);
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
        free(summaries->items[r].incidents);
        free(summaries->items[r].step);
        device_changes_free(&summaries->items[r].changes);
    }
    free(summaries->items);
    *summaries = (struct rank_summaries){0};
}
