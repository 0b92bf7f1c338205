/*
 * pair_jobs.c - measures disjoint pairs of hosts at the same time, into readings.
 */
#include "accept/internal.h"

#include "accept/accept.h"
#include "base/log.h"
#include "base/stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A list of readings that grows.
 */
const char *const reading_metric_names[METRICS] = {
    [METRIC_LATENCY] = "latency", [METRIC_ALONE] = "alone", [METRIC_BOTH] = "both"};
const char *const reading_metric_keys[METRICS] = {[METRIC_LATENCY] = "pairs.latency",
                                                  [METRIC_ALONE] = "pairs.bandwidth",
                                                  [METRIC_BOTH] = "pairs.bandwidth_both"};

enum status readings_add(struct readings *readings, const struct reading *reading)
{
    if (readings->count == readings->room) {
        size_t room = 2 * readings->room + 256;
        struct reading *of = realloc(readings->of, room * sizeof *of);
        if (!of)
            return fail(STATUS_ERROR, "out of memory for %zu readings", room);
        readings->of = of;
        readings->room = room;
    }
    readings->of[readings->count++] = *reading;
    return STATUS_OK;
}

void readings_free(struct readings *readings)
{
    free(readings->of);
    *readings = (struct readings){0};
}

/*
 * Measures disjoint pairs of hosts at the same time.
 */
#define ROUND_SECONDS 30.0 /* that the jobs of a round may take */
#define ROUND_QUICK   12.0
#define LINE_SECONDS  0.5 /* and one line of a job */
#define LINE_QUICK    0.15
#define PROBE_BYTES   (256 << 10)
#define MESSAGE_US    4000.0 /* that a message is to take */
#define BYTES_LEAST   ((size_t)64 << 10)
#define BYTES_MOST    ((size_t)16 << 20)
#define LATENCY_BYTES 8
#define STALL_SHARE   3 /* of the time: a job says itself what it waits for */

struct pair_jobs pair_jobs_open(struct acceptance *acceptance)
{
    bool quick = acceptance->asked->quick;
    return (struct pair_jobs){.acceptance = acceptance,
                              .seconds = quick ? ROUND_QUICK : ROUND_SECONDS,
                              .budget = quick ? LINE_QUICK : LINE_SECONDS};
}

/* The pairs whose hosts both have a rail; how many. `kept` has room for all. */
static int pairs_on_rail(const struct acceptance *acceptance, int rail,
                         const struct host_pair *pairs, int count, struct host_pair *kept)
{
    const struct rails *rails = &acceptance->rails;
    int left = 0;
    for (int i = 0; i < count; i++)
        if (rail_is_at(rails, rail, acceptance->inventories, pairs[i].a) &&
            rail_is_at(rails, rail, acceptance->inventories, pairs[i].b))
            kept[left++] = pairs[i];
    return left;
}

/* Runs a job for each pair on a rail: one rank on each host, in this order or the other. */
static enum status pairs_run(struct pair_jobs *jobs, struct trials *trials, int rail,
                             const struct host_pair *pairs, int count, bool reversed,
                             const char *command)
{
    const struct acceptance *acceptance = jobs->acceptance;
    const struct fleet_host *hosts = acceptance->roster->hosts;
    char transport[PORT_TRANSPORT_MOST];
    enum status status = STATUS_OK;
    trials->transport = rail_transport(acceptance->job, &acceptance->rails, rail, transport);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const int a = hosts[pairs[i].a].agents[0], b = hosts[pairs[i].b].agents[0];
        const int agents[] = {reversed ? b : a, reversed ? a : b};
        status = trials_add(trials, agents, 2, "%s", command);
    }
    return status == STATUS_OK ? trials_run(trials, jobs->seconds) : status;
}

/* Did the pair's job fail, and does that say something against it? */
static bool job_failed(struct pair_jobs *jobs, const struct host_pair *pair,
                       const struct trials *trials, int job)
{
    if (!trial_accuses(trials, job, pair->a) || !trial_accuses(trials, job, pair->b))
        return false;
    failed_jobs_add(&jobs->failed, trials->of[job].why);
    return true;
}

/* ---- the first try ---- */

/* Tries a rail, and adds the rates of the pairs. *dropped: it cannot be used. */
static enum status rail_try(struct pair_jobs *jobs, enum accept_stage stage, int rail,
                            const struct host_pair *pairs, int count, double *rates, size_t *known,
                            bool *dropped)
{
    struct trials trials;
    char command[120];
    int failed = 0, worst = 0;
    snprintf(command, sizeof command, "sendrecv -a uni -b %d -e %d -n 4 -w 1 -c 0 --timeout %g",
             PROBE_BYTES, PROBE_BYTES, jobs->seconds / STALL_SHARE);
    trials_open(&trials, jobs->acceptance, stage);
    enum status status = pairs_run(jobs, &trials, rail, pairs, count, false, command);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        if (trials.of[i].outcome == READING_VALUE) {
            rates[(*known)++] = line_number(trials_line(&trials, i, NULL, NULL, 1), "busbw_GBps");
        } else if (job_failed(jobs, &pairs[i], &trials, i)) {
            failed++;
            worst = i;
        }
    }
    *dropped = rails_have_names(&jobs->acceptance->rails) && 2 * failed > count;
    if (status == STATUS_OK && *dropped)
        status = trials_refuse_port(&trials, worst, jobs->acceptance->rails.names[rail], "pairs");
    trials_close(&trials);
    return status;
}

static void bytes_choose(struct acceptance *acceptance, double *rates, size_t known)
{
    double wanted = known > 0 ? median_of(rates, known) * 1e3 * MESSAGE_US : PROBE_BYTES;
    size_t bytes = BYTES_LEAST;
    while (bytes < BYTES_MOST && (double)bytes < wanted)
        bytes *= 2;
    acceptance->message_bytes = bytes;
}

enum status pair_jobs_try(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count)
{
    struct rails *rails = &jobs->acceptance->rails;
    struct host_pair *kept = calloc((size_t)count, sizeof *kept);
    double *rates = calloc((size_t)(count * rails->count), sizeof *rates);
    enum status status =
        kept && rates ? STATUS_OK : fail(STATUS_ERROR, "out of memory for %d pairs", count);
    size_t known = 0;
    bool named = rails_have_names(rails);
    for (int r = 0; r < rails->count && status == STATUS_OK;) {
        int left = pairs_on_rail(jobs->acceptance, r, pairs, count, kept);
        bool dropped = false;
        status = rail_try(jobs, stage, r, kept, left, rates, &known, &dropped);
        if (dropped)
            rails_drop(rails, r);
        r += !dropped;
        if (dropped && named && !rails_have_names(rails))
            r = 0; /* none is left: the transports as they were given */
        named = rails_have_names(rails);
    }
    if (status == STATUS_OK)
        bytes_choose(jobs->acceptance, rates, known);
    free(kept);
    free(rates);
    return status;
}

/* ---- measurements ---- */

/* A job of a pair on a rail that has ended. */
struct pair_trial {
    const struct host_pair *pair;
    int rail, job;
    const struct trials *trials;
    struct readings *readings;
};

static enum status reading_take(const struct pair_trial *it, enum metric metric, bool reversed,
                                const char *algorithm, size_t bytes)
{
    struct reading reading = {.from = reversed ? it->pair->b : it->pair->a,
                              .to = reversed ? it->pair->a : it->pair->b,
                              .rail = it->rail,
                              .metric = metric,
                              .outcome = it->trials->of[it->job].outcome};
    if (reading.outcome == READING_VALUE)
        /* The least latency is that of the link; others may be those of a CPU that was busy. */
        reading.value = line_number(trials_line(it->trials, it->job, NULL, algorithm, bytes),
                                    metric == METRIC_LATENCY ? "time_us.min" : "busbw_GBps");
    return readings_add(it->readings, &reading);
}

/* A failed job has one reading. */
static enum status pair_take(const struct pair_trial *it, size_t bytes)
{
    enum status status = reading_take(it, METRIC_LATENCY, false, "pingpong", LATENCY_BYTES);
    if (it->trials->of[it->job].outcome != READING_VALUE || status != STATUS_OK)
        return status;
    status = reading_take(it, METRIC_ALONE, false, "uni", bytes);
    for (int reversed = 0; reversed < 2 && status == STATUS_OK; reversed++)
        status = reading_take(it, METRIC_BOTH, reversed, "bidir", bytes);
    return status;
}

static enum status half_take(struct pair_jobs *jobs, enum accept_stage stage,
                             const struct pair_trial *it, bool reversed)
{
    struct acceptance *acceptance = jobs->acceptance;
    const struct trial *trial = &it->trials->of[it->job];
    bool failed = trial->outcome != READING_VALUE;
    enum status status = STATUS_OK;
    if (failed && !job_failed(jobs, it->pair, it->trials, it->job))
        return STATUS_OK;
    if (stage == STAGE_PAIRS && !failed)
        status = resent_packets_take(acceptance, it->pair, trial->document);
    if (status != STATUS_OK)
        return status;
    return reversed ? reading_take(it, METRIC_ALONE, true, "uni", acceptance->message_bytes)
                    : pair_take(it, acceptance->message_bytes);
}

/* Runs one of the two jobs of each pair. */
static enum status half_run(struct pair_jobs *jobs, enum accept_stage stage, int rail,
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
    enum status status = pairs_run(jobs, &trials, rail, pairs, count, reversed, command);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const struct pair_trial it = {
            .pair = &pairs[i], .rail = rail, .job = i, .trials = &trials, .readings = readings};
        status = half_take(jobs, stage, &it, reversed);
    }
    trials_close(&trials);
    return status;
}

enum status pair_jobs_run(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count, uint64_t rails,
                          struct readings *readings)
{
    enum status status = STATUS_OK;
    struct host_pair *kept = calloc((size_t)count + 1, sizeof *kept);
    double longest = 0;
    if (!kept)
        return fail(STATUS_ERROR, "out of memory for %d pairs", count);
    for (int r = 0; r < jobs->acceptance->rails.count && status == STATUS_OK; r++) {
        double time = stage_left(jobs->acceptance);
        if (time < longest)
            break; /* no further rail fits into the stage's time */
        int left = rails >> r & 1 ? pairs_on_rail(jobs->acceptance, r, pairs, count, kept) : 0;
        for (int reversed = 0; reversed < 2 && left > 0 && status == STATUS_OK; reversed++)
            status = half_run(jobs, stage, r, kept, left, reversed, readings);
        longest = fmax(longest, time - stage_left(jobs->acceptance));
    }
    free(kept);
    return status;
}
