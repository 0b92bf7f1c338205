/*
 * rank_result.c - one rank's samples, findings and traffic of a line, and their way to rank 0.
 */
#include "measure/rank_result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "schedule/provenance.h"

enum status tally_create(const struct job *job, const struct line *line, int choice, size_t bytes,
                         struct runner *runner, struct tally **made)
{
    struct tally *tally = calloc(1, sizeof *tally);
    *made = tally;
    size_t samples = (size_t)job->iterations + 1;
    if (tally) {
        tally->samples = calloc(samples, sizeof *tally->samples);
        tally->late = calloc(samples, sizeof *tally->late);
    }
    if (!tally || !tally->samples || !tally->late)
        return fail(STATUS_ERROR, "out of memory for %ld samples: ask for fewer iterations (-n)",
                    job->iterations);
    tally->choice = choice;
    tally->bytes = bytes;
    tally->problem = line->problem;
    tally->hop_peer = -1;
    tally->checked = job->checked > 0 && job->checked < line->plans ? line->plans : job->checked;

    struct endpoint *endpoint;
    for (int i = 0; (endpoint = links_endpoint(runner->links, i)); i++) {
        tally->transport[i] = endpoint->transport->name;
        tally->transports = i + 1;
    }
    for (int p = 0; p < line->plans; p++) {
        const struct schedule *schedule = line->schedules[p];
        for (size_t o = 0; o < schedule->count; o++) {
            int peer = schedule->operations[o].peer;
            for (int i = 0; peer >= 0 && i < tally->transports; i++)
                tally->used[i] |= links_endpoint(runner->links, i)->transport ==
                                  links_transport(runner->links, peer);
        }
    }
    return job->watches ? flows_create(job, line, runner, &tally->flows) : STATUS_OK;
}

void tally_free(struct tally *tally)
{
    if (!tally)
        return;
    free(tally->samples);
    free(tally->late);
    flows_free(tally->flows);
    free(tally);
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

void tally_note_finding(struct tally *tally, const struct finding *finding,
                        const struct schedule *schedule, long iteration)
{
    if (finding->wrong == 0)
        return;
    if (!tally->story[0]) {
        int arrival = trace_arrival(schedule, finding->first);
        if (arrival >= 0 &&
            hop_is_telling(schedule, &schedule->operations[arrival], finding->first)) {
            tally->hop_peer = schedule->operations[arrival].peer;
            tally->hop_step = schedule->operations[arrival].step;
        }
        snprintf(tally->story, sizeof tally->story,
                 "%zu element%s wrong in checked iteration %ld, the first at %zu: expected %s, got "
                 "%s; %s",
                 finding->wrong, finding->wrong == 1 ? " is" : "s are", iteration, finding->first,
                 finding->expected, finding->got, finding->story);
    }
    tally->wrong += finding->wrong;
}

void tally_note_source(struct tally *tally, size_t changed, long iteration)
{
    if (changed == 0)
        return;
    if (!tally->story[0])
        snprintf(tally->story, sizeof tally->story,
                 "%zu elements of the source were overwritten in checked iteration %ld", changed,
                 iteration);
    tally->wrong += changed;
}

void tally_note_overrun(struct tally *tally, const char *overrun, long iteration)
{
    if (!tally->story[0])
        snprintf(tally->story, sizeof tally->story, "in checked iteration %ld %s", iteration,
                 overrun);
    tally->wrong++;
}

/* Traffic. */

static void tally_traffic_add(struct tally *tally, const struct runner *runner, int sign)
{
    struct endpoint *endpoint;
    for (int i = 0; (endpoint = links_endpoint(runner->links, i)); i++) {
        traffic_add(&tally->traffic[i], &endpoint->traffic, sign);
        traffic_add(&tally->traffic[i], &runner->start_traffic[i], -sign);
    }
}

void tally_begin(struct tally *tally, struct runner *runner)
{
    runner->profile = (struct profile){0};
    flows_count(tally->flows, runner->links, -1);
    tally_traffic_add(tally, runner, -1);
}

void tally_end(struct tally *tally, const struct runner *runner)
{
    tally_traffic_add(tally, runner, +1);
    flows_count(tally->flows, runner->links, +1);
    memcpy(tally->shares, runner->profile.shares, sizeof tally->shares);
}

enum status tally_check_copy(const struct tally *tally, const struct job *job)
{
    static const enum path only[] = {
        [COPY_BCOPY] = PATH_BCOPY, [COPY_ZCOPY] = PATH_ZCOPY, [COPY_LL] = PATH_LL};
    uint64_t bytes[PATHS] = {0}, other = 0;
    for (int i = 0; i < tally->transports; i++)
        for (int path = 0; path < PATHS; path++)
            bytes[path] += tally->traffic[i].received[path] + tally->traffic[i].sent[path];
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

static size_t tally_wire_size(long iterations, int peers)
{
    return sizeof(struct tally_wire) + (size_t)iterations * sizeof(uint64_t) +
           (size_t)peers * sizeof(struct peer_flow);
}

static struct tally_wire *tally_pack(struct tally *tally, const struct job *job, size_t *size)
{
    long iterations = job->iterations;
    int peers = flows_told(tally->flows);
    *size = tally_wire_size(iterations, peers);
    struct tally_wire *wire = calloc(1, *size);
    if (!wire)
        return NULL;
    wire->peers = peers;
    if (peers > 0)
        memcpy(&wire->samples[iterations], tally->flows->peers,
               (size_t)peers * sizeof *tally->flows->peers);
    qsort(tally->late, (size_t)iterations, sizeof *tally->late, time_compare);
    wire->wrong = tally->wrong;
    wire->late = iterations ? tally->late[iterations / 2] : 0;
    wire->hop_peer = tally->hop_peer;
    wire->hop_step = tally->hop_step;
    memcpy(wire->traffic, tally->traffic, sizeof wire->traffic);
    memcpy(wire->shares, tally->shares, sizeof wire->shares);
    for (int i = 0; i < tally->transports; i++)
        snprintf(wire->transport[i], sizeof wire->transport[i], "%s", tally->transport[i]);
    for (int i = 0; i < tally->transports; i++)
        wire->used[i] = tally->used[i];
    snprintf(wire->story, sizeof wire->story, "%s", tally->story);
    memcpy(wire->samples, tally->samples, (size_t)iterations * sizeof(uint64_t));
    /* Sorts them, and so comes after the copy: rank 0 takes the slowest of each iteration. */
    if (job->profile || job->watches)
        wire->duration = statistics_of(tally->samples, (size_t)iterations).p50;
    return wire;
}

/* Has it the size of a struct tally_wire? What stands in it is the ledger's to check. */
static bool tally_wire_fits(const struct tally_wire *wire, size_t size, long iterations)
{
    return size >= sizeof *wire && wire->peers >= 0 && wire->peers <= FLOWS_TOLD &&
           size == tally_wire_size(iterations, wire->peers);
}

enum status tally_gather(struct tally *tally, struct ledger *ledger, struct control *control,
                         const struct job *job, struct report *report)
{
    size_t size;
    struct tally_wire *wire = tally_pack(tally, job, &size);
    if (!wire)
        return fail(STATUS_ERROR, "out of memory for %ld samples", job->iterations);
    struct blobs blobs;
    enum status status = control_gather(control, wire, size, &blobs);
    free(wire);
    if (status != STATUS_OK)
        return status;
    for (int r = 0; r < blobs.count && status == STATUS_OK; r++)
        if (!tally_wire_fits(blobs.data[r], blobs.size[r], job->iterations))
            status =
                fail(STATUS_ERROR,
                     "rank %d sent a result of %zu bytes that makes no sense: do all ranks run "
                     "the same cctest?",
                     r, blobs.size[r]);
    if (status == STATUS_OK && blobs.count && report)
        status = ledger_add_line(ledger, tally, job, control_members(control), &blobs, report);
    blobs_free(&blobs);
    return status;
}
