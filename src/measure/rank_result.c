/*
 * rank_result.c - one rank's samples, findings and traffic of a line, and their way to rank 0.
 */
#include "measure/rank_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "run/test_case.h"
#include "schedule/provenance.h"

enum status rank_result_create(const struct job *job, const struct test_case *test_case, int choice,
                               size_t bytes, struct runner *runner, struct rank_result **made)
{
    struct rank_result *rank_result = calloc(1, sizeof *rank_result);
    *made = rank_result;
    size_t samples = (size_t)job->iterations + 1;
    if (rank_result) {
        rank_result->samples = calloc(samples, sizeof *rank_result->samples);
        rank_result->late = calloc(samples, sizeof *rank_result->late);
    }
    if (!rank_result || !rank_result->samples || !rank_result->late)
        return fail(STATUS_ERROR, "out of memory for %ld samples: ask for fewer iterations (-n)",
                    job->iterations);
    rank_result->choice = choice;
    rank_result->bytes = bytes;
    rank_result->problem = test_case->sized.problem;
    rank_result->hop_peer = -1;
    rank_result->checked = job->checked > 0 && job->checked < test_case->schedule_count
                               ? test_case->schedule_count
                               : job->checked;

    struct endpoint *endpoint;
    for (int i = 0; (endpoint = links_endpoint(runner->links, i)); i++) {
        rank_result->transport[i] = endpoint->transport->name;
        rank_result->transports = i + 1;
    }
    for (int peer = 0; peer < runner->ranks; peer++)
        for (int i = 0; test_case->peers[peer].lanes > 0 && i < rank_result->transports; i++)
            rank_result->used[i] |=
                links_endpoint(runner->links, i)->transport == links_transport(runner->links, peer);
    return job->watches ? link_stats_create(job, test_case, runner, &rank_result->flows)
                        : STATUS_OK;
}

void rank_result_free(struct rank_result *rank_result)
{
    if (!rank_result)
        return;
    free(rank_result->samples);
    free(rank_result->late);
    link_stats_free(rank_result->flows);
    free(rank_result);
}

/* Findings. */

/* Does a right result at the rank that an operation received from say that the element left it
 * right? Only if that rank's result holds it too, or the element is that rank's own. */
static bool hop_is_telling(const struct schedule *schedule, const struct operation *arrival,
                           size_t element)
{
    struct expectation expectation;
    if (arrival->kind != OPERATION_RECV)
        return false;
    if (collective_is_uniform(schedule->problem.collective))
        return true;
    for (int i = 0; collective_expects(&schedule->problem, schedule->rank, i, &expectation); i++)
        if (element - expectation.at < expectation.length)
            return expectation.rank == arrival->peer;
    return false;
}

void rank_result_note_finding(struct rank_result *rank_result, const struct finding *finding,
                              const struct schedule *schedule, long iteration)
{
    if (finding->wrong == 0)
        return;
    if (!rank_result->explanation[0]) {
        int arrival = provenance_of(schedule, finding->first);
        if (arrival >= 0 &&
            hop_is_telling(schedule, &schedule->operations[arrival], finding->first)) {
            rank_result->hop_peer = schedule->operations[arrival].peer;
            rank_result->hop_step = schedule->operations[arrival].step;
        }
        snprintf(rank_result->explanation, sizeof rank_result->explanation,
                 "%zu element%s wrong in checked iteration %ld, the first at %zu: expected %s, got "
                 "%s; %s",
                 finding->wrong, finding->wrong == 1 ? " is" : "s are", iteration, finding->first,
                 finding->expected, finding->got, finding->explanation);
    }
    rank_result->wrong += finding->wrong;
}

void rank_result_note_source(struct rank_result *rank_result, size_t changed, long iteration)
{
    if (changed == 0)
        return;
    if (!rank_result->explanation[0])
        snprintf(rank_result->explanation, sizeof rank_result->explanation,
                 "%zu elements of the source were overwritten in checked iteration %ld", changed,
                 iteration);
    rank_result->wrong += changed;
}

void rank_result_note_overrun(struct rank_result *rank_result, const char *overrun, long iteration)
{
    if (!rank_result->explanation[0])
        snprintf(rank_result->explanation, sizeof rank_result->explanation,
                 "in checked iteration %ld %s", iteration, overrun);
    rank_result->wrong++;
}

/* Traffic. */

static void rank_result_traffic_add(struct rank_result *rank_result, const struct runner *runner,
                                    int sign)
{
    struct endpoint *endpoint;
    for (int i = 0; (endpoint = links_endpoint(runner->links, i)); i++) {
        traffic_add(&rank_result->traffic[i], &endpoint->traffic, sign);
        traffic_add(&rank_result->traffic[i], &runner->start_traffic[i], -sign);
    }
}

void rank_result_begin(struct rank_result *rank_result, struct runner *runner)
{
    runner->profile = (struct profile){0};
    link_stats_count(rank_result->flows, runner->links, -1);
    rank_result_traffic_add(rank_result, runner, -1);
}

void rank_result_end(struct rank_result *rank_result, const struct runner *runner)
{
    rank_result_traffic_add(rank_result, runner, +1);
    link_stats_count(rank_result->flows, runner->links, +1);
    memcpy(rank_result->shares, runner->profile.shares, sizeof rank_result->shares);
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
    return fail(STATUS_ERROR,
                "--copy %s was asked for, but %llu bytes went another way (line %llu, bcopy %llu, "
                "zcopy %llu, ll %llu)",
                copy_names[job->copy], (unsigned long long)other,
                (unsigned long long)bytes[PATH_LINE], (unsigned long long)bytes[PATH_BCOPY],
                (unsigned long long)bytes[PATH_ZCOPY], (unsigned long long)bytes[PATH_LL]);
}

/* Gathering. */

static int time_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t rank_result_wire_size(long iterations, int peers)
{
    return sizeof(struct rank_result_wire) + (size_t)iterations * sizeof(uint64_t) +
           (size_t)peers * sizeof(struct peer_stats);
}

static struct rank_result_wire *rank_result_pack(struct rank_result *rank_result,
                                                 const struct job *job, size_t *size)
{
    long iterations = job->iterations;
    int peers = link_stats_sort(rank_result->flows);
    *size = rank_result_wire_size(iterations, peers);
    struct rank_result_wire *wire = calloc(1, *size);
    if (!wire)
        return NULL;
    wire->peers = peers;
    if (peers > 0)
        memcpy(&wire->samples[iterations], rank_result->flows->peers,
               (size_t)peers * sizeof *rank_result->flows->peers);
    qsort(rank_result->late, (size_t)iterations, sizeof *rank_result->late, time_compare);
    wire->wrong = rank_result->wrong;
    wire->late = iterations ? rank_result->late[iterations / 2] : 0;
    wire->hop_peer = rank_result->hop_peer;
    wire->hop_step = rank_result->hop_step;
    memcpy(wire->traffic, rank_result->traffic, sizeof wire->traffic);
    memcpy(wire->shares, rank_result->shares, sizeof wire->shares);
    for (int i = 0; i < rank_result->transports; i++)
        snprintf(wire->transport[i], sizeof wire->transport[i], "%s", rank_result->transport[i]);
    for (int i = 0; i < rank_result->transports; i++)
        wire->used[i] = rank_result->used[i];
    snprintf(wire->explanation, sizeof wire->explanation, "%s", rank_result->explanation);
    memcpy(wire->samples, rank_result->samples, (size_t)iterations * sizeof(uint64_t));
    /* Sorts them, and so comes after the copy: rank 0 takes the slowest of each iteration. */
    if (job->profile || job->watches)
        wire->duration = statistics_of(rank_result->samples, (size_t)iterations).p50;
    return wire;
}

/* Has it the size of a struct rank_result_wire? What stands in it is the ledger's to check. */
static bool rank_result_wire_fits(const struct rank_result_wire *wire, size_t size, long iterations)
{
    return size >= sizeof *wire && wire->peers >= 0 && wire->peers <= LINK_STATS_MOST &&
           size == rank_result_wire_size(iterations, wire->peers);
}

enum status rank_result_gather(struct rank_result *rank_result, struct results *results,
                               struct control *control, const struct job *job,
                               struct report *report)
{
    size_t size;
    struct rank_result_wire *wire = rank_result_pack(rank_result, job, &size);
    if (!wire)
        return fail(STATUS_ERROR, "out of memory for %ld samples", job->iterations);
    struct blobs blobs;
    enum status status = control_gather(control, wire, size, &blobs);
    free(wire);
    if (status != STATUS_OK)
        return status;
    for (int r = 0; r < blobs.count && status == STATUS_OK; r++)
        if (!rank_result_wire_fits(blobs.data[r], blobs.size[r], job->iterations))
            status =
                fail(STATUS_ERROR,
                     "rank %d sent a result of %zu bytes that makes no sense: do all ranks run "
                     "the same cctest?",
                     r, blobs.size[r]);
    if (status == STATUS_OK && blobs.count && report)
        status =
            results_add_line(results, rank_result, job, control_members(control), &blobs, report);
    blobs_free(&blobs);
    return status;
}
