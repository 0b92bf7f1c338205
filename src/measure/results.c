/*
 * results.c - from all ranks' tallies to a line of the table, and to sentences about what is wrong.
 *
 * The time of an iteration is that of the slowest rank, and of one that goes there and back half of
 * it. Percentiles are taken over iterations.
 */
#include "measure/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "measure/bottleneck_report.h"
#include "measure/rank_result.h"

#define HYPOTHESES_MOST 8  /* different stories that are told for one line */
#define RANKS_TOLD      16 /* ranks that are listed for one story */

static void error_add(struct results *results, const struct job_error *error)
{
    struct job_error *more =
        realloc(results->errors, ((size_t)results->error_count + 1) * sizeof *more);
    if (!more)
        return; /* it has been said on stderr */
    results->errors = more;
    more[results->error_count++] = *error;
}

/* "0, 1, 2 and 5 more" of the ranks from `first` on that tell the same story. */
static void ranks_write(const struct blobs *rank_results, int first, char *text, size_t size)
{
    const struct rank_result_wire *model = rank_results->data[first];
    int count = 0;
    size_t used = 0;
    for (int r = first; r < rank_results->count; r++) {
        const struct rank_result_wire *wire = rank_results->data[r];
        if (wire->wrong == 0 || strcmp(wire->explanation, model->explanation) != 0)
            continue;
        if (count++ < RANKS_TOLD)
            used += (size_t)snprintf(text + used, size - used, "%s%d", count > 1 ? ", " : "", r);
    }
    if (count > RANKS_TOLD)
        snprintf(text + used, size - used, " and %d more", count - RANKS_TOLD);
}

static bool story_is_new(const struct blobs *rank_results, int rank)
{
    for (int r = 0; r < rank; r++)
        if (strcmp(((const struct rank_result_wire *)rank_results->data[r])->explanation,
                   ((const struct rank_result_wire *)rank_results->data[rank])->explanation) == 0)
            return false;
    return true;
}

/* A fault spreads from hop to hop: where a wrong rank got its first wrong element from one whose
 * own result is right, it began between these two. */
static void origins_tell(const struct blobs *rank_results, const struct member *members)
{
    int told = 0;
    for (int r = 0; r < rank_results->count && told < HYPOTHESES_MOST; r++) {
        const struct rank_result_wire *wire = rank_results->data[r];
        if (wire->wrong == 0 || wire->hop_peer < 0)
            continue;
        if (((const struct rank_result_wire *)rank_results->data[wire->hop_peer])->wrong)
            continue;
        told++;
        say("the first wrong element of rank %d (%s) came from rank %d (%s) in step %d, and was "
            "right there: suspect the link between the two, or their memory",
            r, members[r].host, wire->hop_peer, members[wire->hop_peer].host, wire->hop_step);
    }
}

/* Says on stderr, and notes for JSON, which ranks hold wrong data and what the blame made of it. */
static void stories_tell(const struct rank_result *mine, struct results *results,
                         const struct job *job, const struct member *members,
                         const struct blobs *rank_results)
{
    int told = 0;
    for (int r = 0; r < rank_results->count; r++) {
        const struct rank_result_wire *wire = rank_results->data[r];
        if (wire->wrong == 0)
            continue;
        struct job_error error = {.rank = r, .phase = "check"};
        snprintf(error.host, sizeof error.host, "%s", members[r].host);
        snprintf(error.message, sizeof error.message, "%s %s, %zu bytes: %s", job->collective->name,
                 job->candidates[mine->choice].text,
                 collective_bytes(&mine->problem, job->datatype->size), wire->explanation);
        error_add(results, &error);
        if (!story_is_new(rank_results, r) || told++ >= HYPOTHESES_MOST)
            continue;
        char ranks[200];
        ranks_write(rank_results, r, ranks, sizeof ranks);
        bool several = strchr(ranks, ',') != NULL;
        say("wrong data at rank%s %s (%s%s): %s", several ? "s" : "", ranks, members[r].host,
            several ? ", ..." : "", error.message);
    }
    if (told > HYPOTHESES_MOST)
        say("wrong data at other ranks: %d more stories", told - HYPOTHESES_MOST);
    origins_tell(rank_results, members);
}

/* The traffic of all ranks by transport, and the name of what carried the line. */
static void result_traffic(struct result *result, const struct blobs *rank_results, char *name,
                           size_t size)
{
    int names = 0;
    bool used[TRANSPORTS_MOST] = {false};
    for (int r = 0; r < rank_results->count; r++) {
        const struct rank_result_wire *wire = rank_results->data[r];
        for (int i = 0; i < TRANSPORTS_MOST && wire->transport[i][0]; i++) {
            int at = 0;
            while (at < names && strcmp(result->transport_names[at], wire->transport[i]) != 0)
                at++;
            if (at == names && names < TRANSPORTS_MOST)
                result->transport_names[names++] = transport_find(wire->transport[i])->name;
            traffic_add(&result->by_transport[at], &wire->traffic[i], +1);
            used[at] |= wire->used[i] != 0;
        }
    }
    name[0] = '\0';
    for (int i = 0; i < names; i++)
        if (used[i])
            snprintf(name + strlen(name), size - strlen(name), "%s%s", name[0] ? "+" : "",
                     result->transport_names[i]);
    if (!name[0])
        snprintf(name, size, "self");
}

/* *duration: p50 of an iteration, there and back; *time: of all of them together; ns. */
static enum status result_times(struct result *result, const struct job *job,
                                const struct blobs *rank_results, uint64_t *duration,
                                uint64_t *time)
{
    size_t count = (size_t)result->iterations;
    uint64_t trips = job->candidates[result->choice].choice.algorithm->round_trip ? 2 : 1;
    uint64_t *slowest = calloc(count + 1, sizeof *slowest);
    uint64_t *late = calloc((size_t)rank_results->count, sizeof *late);
    enum status status = STATUS_OK;
    if (!slowest || !late) {
        status = fail(STATUS_ERROR, "out of memory for %zu samples", count);
    } else {
        for (int r = 0; r < rank_results->count; r++) {
            const struct rank_result_wire *wire = rank_results->data[r];
            for (size_t i = 0; i < count; i++)
                slowest[i] = wire->samples[i] > slowest[i] ? wire->samples[i] : slowest[i];
            late[r] = wire->late;
        }
        for (size_t i = 0; i < count; i++) {
            *time += slowest[i];
            slowest[i] /= trips;
        }
        result->time_us = statistics_of(slowest, count);
        result->algbw = bandwidth_algorithm(result->bytes, result->time_us.p50);
        result->busbw = result->algbw * collective_bus_factor(job->collective, rank_results->count);
        *duration = (uint64_t)(result->time_us.p50 * 1000) * trips;
        result->late_rank = statistics_late_rank(late, rank_results->count, *duration);
        result->late_us = result->late_rank < 0 ? 0 : (double)late[result->late_rank] / 1000;
    }
    free(slowest);
    free(late);
    return status;
}

/* Where each rank's time went; nothing where nobody asked, or nothing was timed. */
static enum status result_profile(struct result *result, const struct job *job,
                                  const struct blobs *rank_results)
{
    if (!job->profile || result->iterations == 0)
        return STATUS_OK;
    struct rank_profile *profile = calloc((size_t)rank_results->count, sizeof *profile);
    if (!profile)
        return fail(STATUS_ERROR, "out of memory for the profile of %d ranks", rank_results->count);
    for (int r = 0; r < rank_results->count; r++) {
        const struct rank_result_wire *wire = rank_results->data[r];
        for (int a = 0; a < ACTIVITIES; a++)
            profile[r].share[a] = wire->shares[a] / (double)result->iterations;
        profile[r].time_us = wire->duration;
    }
    result->profile = profile;
    return STATUS_OK;
}

/* Texts have an end, names are known, and ranks are ranks of this job. */
static bool wire_makes_sense(const struct rank_result_wire *wire, long iterations, int ranks)
{
    bool good = memchr(wire->explanation, '\0', sizeof wire->explanation) && wire->hop_peer < ranks;
    for (int i = 0; good && i < TRANSPORTS_MOST; i++) {
        const char *name = wire->transport[i];
        good = memchr(name, '\0', sizeof wire->transport[i]) && (!*name || transport_find(name));
    }
    const struct peer_stats *flows = rank_result_wire_peers(wire, iterations);
    for (int i = 0; good && i < wire->peers; i++)
        good = flows[i].peer >= 0 && flows[i].peer < ranks;
    return good;
}

enum status results_add_line(struct results *results, const struct rank_result *mine,
                             const struct job *job, const struct member *members,
                             const struct blobs *rank_results, struct report *report)
{
    for (int r = 0; r < rank_results->count; r++)
        if (!wire_makes_sense(rank_results->data[r], job->iterations, rank_results->count))
            return fail(STATUS_ERROR,
                        "rank %d sent a result that makes no sense: do all ranks run the same "
                        "cctest?",
                        r);
    struct result *more =
        realloc(results->results, ((size_t)results->result_count + 1) * sizeof *more);
    if (!more)
        return fail(STATUS_ERROR, "out of memory for results");
    results->results = more;
    struct result *result = &more[results->result_count++];
    *result = (struct result){
        .choice = mine->choice,
        .asked = mine->bytes,
        .count = mine->problem.count,
        .bytes = collective_bytes(&mine->problem, job->datatype->size),
        .root = job->root,
        .iterations = job->iterations,
        .checked = mine->checked,
        .late_rank = -1,
        .ranks = rank_results->count,
    };
    for (int r = 0; r < rank_results->count; r++)
        result->wrong += ((const struct rank_result_wire *)rank_results->data[r])->wrong;
    results->wrong += result->wrong;
    result_traffic(result, rank_results, result->transport, sizeof result->transport);
    uint64_t duration = 0, time = 0;
    enum status status = result_times(result, job, rank_results, &duration, &time);
    if (status == STATUS_OK && job->watches && result->iterations > 0)
        status = bottleneck_report(result, members, rank_results, duration, time);
    if (status == STATUS_OK)
        status = result_profile(result, job, rank_results);
    if (status != STATUS_OK)
        return status;
    if (result->wrong)
        stories_tell(mine, results, job, members, rank_results);
    report->result(report, job, result);
    bottleneck_report_free(result); /* as large as all ranks and their peers */
    return STATUS_OK;
}

void results_add_errors(struct results *results, const struct job_error *errors, int count)
{
    for (int i = 0; i < count; i++)
        error_add(results, &errors[i]);
}

bool results_fast_enough(const struct job *job, const struct result *results, int count,
                         double *best)
{
    size_t largest = 0;
    *best = 0;
    for (int i = 0; i < count; i++)
        if (results[i].bytes > largest)
            largest = results[i].bytes;
    for (int i = 0; i < count; i++)
        if (results[i].bytes == largest && results[i].wrong == 0 && results[i].busbw > *best)
            *best = results[i].busbw;
    return job->min_busbw <= 0 || *best >= job->min_busbw;
}

enum status results_status(const struct results *results, const struct job *job)
{
    if (results->wrong)
        return STATUS_WRONG_DATA;
    if (results->result_count == 0)
        return STATUS_OK;
    double best;
    if (results_fast_enough(job, results->results, results->result_count, &best))
        return STATUS_OK;
    say("the best busbw at the largest size is %.3f GB/s, less than the %.3f GB/s that --min-busbw "
        "asks for",
        best, job->min_busbw);
    return STATUS_SLOW;
}

void results_free(struct results *results)
{
    for (int i = 0; i < results->result_count; i++) {
        bottleneck_report_free(&results->results[i]); /* of a line that failed */
        free(results->results[i].profile);
    }
    free(results->results);
    free(results->errors);
}
