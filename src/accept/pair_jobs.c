/*
 * pair_jobs.c - measures disjoint pairs of hosts at the same time, into readings.
 */
#include "accept/pair_jobs.h"

#include <math.h>
#include <stdlib.h>

#include "accept/resent_packets.h"
#include "accept/trials.h"
#include "accept/stage.h"
#include "base/log.h"
#include "screening/spread.h"

#define PROBE_BYTES   (256 << 10)
#define MESSAGE_US    4000.0 /* that a message is to take */
#define BYTES_LEAST   ((size_t)64 << 10)
#define BYTES_MOST    ((size_t)16 << 20)
#define LATENCY_BYTES 8
#define STALL_SHARE   3 /* of the time: a job says itself what it waits for */

/* One rank on each host of the pairs, in this order or the other. */
static enum status pairs_add(struct pair_jobs *jobs, struct trials *trials,
                             const struct host_pair *pairs, int count, bool reversed,
                             const char *command)
{
    const struct fleet_host *hosts = jobs->acceptance->roster->hosts;
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const int a = hosts[pairs[i].a].agents[0], b = hosts[pairs[i].b].agents[0];
        const int agents[] = {reversed ? b : a, reversed ? a : b};
        status = trials_add(trials, agents, 2, "%s", command);
    }
    return status;
}

/* Finds the size of messages. */
static enum status bytes_find(struct pair_jobs *jobs, enum accept_stage stage,
                              const struct host_pair *pairs, int count)
{
    struct trials trials;
    char command[120];
    double *rates = malloc((size_t)count * sizeof *rates);
    size_t known = 0;
    if (!rates)
        return fail(STATUS_ERROR, "out of memory for %d pairs", count);
    snprintf(command, sizeof command, "sendrecv -a uni -b %d -e %d -n 4 -w 1 -c 0 --timeout %g",
             PROBE_BYTES, PROBE_BYTES, jobs->seconds / STALL_SHARE);
    trials_open(&trials, jobs->acceptance, stage);
    enum status status = pairs_add(jobs, &trials, pairs, count, false, command);
    if (status == STATUS_OK)
        status = trials_run(&trials, jobs->seconds);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        if (trials.of[i].outcome == READING_VALUE)
            rates[known++] = line_number(trials_line(&trials, i, NULL, NULL, 1), "busbw_GBps");
    trials_close(&trials);
    double wanted = known > 0 ? median_of(rates, known) * 1e3 * MESSAGE_US : PROBE_BYTES;
    for (jobs->acceptance->message_bytes = BYTES_LEAST;
         jobs->acceptance->message_bytes < BYTES_MOST &&
         (double)jobs->acceptance->message_bytes < wanted;)
        jobs->acceptance->message_bytes *= 2;
    free(rates);
    return status;
}

static enum status reading_take(struct readings *readings, const struct host_pair *pair,
                                enum metric metric, bool reversed, const struct trials *trials,
                                int job, const char *algorithm, size_t bytes)
{
    struct reading reading = {.from = reversed ? pair->b : pair->a,
                              .to = reversed ? pair->a : pair->b,
                              .metric = metric,
                              .outcome = trials->of[job].outcome};
    if (reading.outcome == READING_VALUE)
        /* The least latency is that of the link; others may be those of a CPU that was busy. */
        reading.value = line_number(trials_line(trials, job, NULL, algorithm, bytes),
                                    metric == METRIC_LATENCY ? "time_us.min" : "busbw_GBps");
    return readings_add(readings, &reading);
}

/* The loss of a host's agent is known, and accuses no partner. */
static bool host_was_lost(const struct pair_jobs *jobs, const struct host_pair *pair)
{
    const struct fleet_host *hosts = jobs->acceptance->roster->hosts;
    return hosts[pair->a].lost || hosts[pair->b].lost;
}

/* A failed job has one reading. */
static enum status pair_take(const struct pair_jobs *jobs, const struct host_pair *pair,
                             const struct trials *trials, int job, struct readings *readings)
{
    enum status status =
        reading_take(readings, pair, METRIC_LATENCY, false, trials, job, "pingpong", LATENCY_BYTES);
    if (trials->of[job].outcome != READING_VALUE || status != STATUS_OK)
        return status;
    status = reading_take(readings, pair, METRIC_ALONE, false, trials, job, "uni",
                          jobs->acceptance->message_bytes);
    for (int reversed = 0; reversed < 2 && status == STATUS_OK; reversed++)
        status = reading_take(readings, pair, METRIC_BOTH, reversed, trials, job, "bidir",
                              jobs->acceptance->message_bytes);
    return status;
}

/* Runs one of the two jobs of each pair. */
static enum status half_run(struct pair_jobs *jobs, enum accept_stage stage,
                            const struct host_pair *pairs, int count, bool reversed,
                            struct readings *readings)
{
    struct trials trials;
    char command[200];
    size_t bytes = jobs->acceptance->message_bytes;
    if (reversed)
        snprintf(command, sizeof command,
                 "sendrecv -a uni -b %zu -e %zu -n auto --budget %g -w 2 -c 1 -v --timeout %g",
                 bytes, bytes, jobs->budget, jobs->seconds / STALL_SHARE);
    else
        snprintf(command, sizeof command,
                 "sendrecv -a pingpong,uni,bidir -b %d -e %zu -f %zu -n auto --budget %g -w 2 -c 1 "
                 "-v --timeout %g",
                 LATENCY_BYTES, bytes, bytes / LATENCY_BYTES, jobs->budget,
                 jobs->seconds / STALL_SHARE);
    trials_open(&trials, jobs->acceptance, stage);
    enum status status = pairs_add(jobs, &trials, pairs, count, reversed, command);
    if (status == STATUS_OK)
        status = trials_run(&trials, jobs->seconds);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        bool failed = trials.of[i].outcome != READING_VALUE;
        if (failed && host_was_lost(jobs, &pairs[i]))
            continue;
        jobs->failures += failed;
        if (stage == STAGE_PAIRS && !failed)
            status = resent_packets_take(jobs->acceptance, &pairs[i], trials.of[i].document);
        if (status != STATUS_OK)
            break;
        status = reversed ? reading_take(readings, &pairs[i], METRIC_ALONE, true, &trials, i, "uni",
                                         jobs->acceptance->message_bytes)
                          : pair_take(jobs, &pairs[i], &trials, i, readings);
    }
    trials_close(&trials);
    return status;
}

enum status pair_jobs_run(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count, struct readings *readings)
{
    enum status status = STATUS_OK;
    if (count == 0)
        return STATUS_OK;
    if (jobs->acceptance->message_bytes == 0)
        status = bytes_find(jobs, stage, pairs, count);
    if (status == STATUS_OK)
        status = half_run(jobs, stage, pairs, count, false, readings);
    if (status == STATUS_OK)
        status = half_run(jobs, stage, pairs, count, true, readings);
    return status;
}
