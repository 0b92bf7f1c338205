/*
 * all_stage.c - the stage all.
 */
#include "accept/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "accept/judge/judge.h"

#define ALL_SECONDS   120.0
#define STALL_SECONDS 30.0 /* at most, until the job itself says what it waits for */

#define ALL_BYTES (1 << 20)

struct all_run {
    struct acceptance *acceptance;
    int *hosts, *agents;
    bool *present;
    int count, ranks;
};

/* Is a collective of so many steps slower than its slowest host explains? */
static enum status collective_judge(const struct all_run *it, const char *name, double us,
                                    double least_us, int steps, int slowest, double rate)
{
    double latency = fleet_median(it->acceptance->fleet, METRIC_LATENCY);
    double most = least_us / COLLECTIVE_LEAST + steps * latency;
    if (us <= 0 || least_us <= 0 || us <= most)
        return STATUS_OK;
    return stage_finds(it->acceptance, STAGE_ALL, -1, -1, HEALTH_GOOD, STATUS_SLOW,
                       "all: %s of 1M over %d ranks takes %.4g us, and its slowest host (%s, %.3g "
                       "GB/s) with the latency of %d steps explains %.4g us at most: look at what "
                       "many at once share",
                       name, it->ranks, us, host_label(it->acceptance, slowest), rate, steps, most);
}

/* Each rank uses one rail: the share of the rails that a host's ranks use together. */
static double rails_used(const struct all_run *it)
{
    return fmin(1, (double)it->ranks / it->count / it->acceptance->rails.count);
}

static enum status all_judge(const struct all_run *it, const struct trials *trials,
                             struct stage_result *result)
{
    const json_t *allreduce = trials_line(trials, 0, "allreduce", NULL, ALL_BYTES);
    const json_t *alltoall = trials_line(trials, 0, "alltoall", NULL, ALL_BYTES);
    stage_says(result, "%d ranks of %d hosts: allreduce of 1M %.3g GB/s, alltoall of 1M %.3g GB/s",
               it->ranks, it->count, line_number(allreduce, "busbw_GBps"),
               line_number(alltoall, "busbw_GBps"));
    double rate;
    int slowest =
        it->acceptance->fleet ? exchange_slowest(it->acceptance->fleet, it->present, &rate) : -1;
    if (slowest < 0) {
        stage_lacks(result, STAGE_PARTLY, "no pairs were measured, to which it could be compared");
        return STATUS_OK;
    }
    rate *= rails_used(it);
    enum status status = collective_judge(it, "allreduce", line_number(allreduce, "time_us.p50"),
                                          allreduce_least_us(it->count, ALL_BYTES, rate),
                                          2 * (it->ranks - 1), slowest, rate);
    if (status == STATUS_OK)
        status =
            collective_judge(it, "alltoall", line_number(alltoall, "time_us.p50"),
                             alltoall_least_us(it->count, it->ranks / it->count, ALL_BYTES, rate),
                             it->ranks - 1, slowest, rate);
    return status;
}

static enum status all_go(struct all_run *it, struct stage_result *result)
{
    struct acceptance *acceptance = it->acceptance;
    const struct fleet_host *hosts = acceptance->roster->hosts;
    struct trials trials;
    it->count = hosts_good(acceptance, it->hosts);
    if (it->count < 2) {
        stage_lacks(result, STAGE_LEFT_OUT, "fewer than 2 hosts are good");
        return STATUS_OK;
    }
    for (int i = 0; i < it->count; i++) {
        it->present[it->hosts[i]] = true;
        for (int a = 0; a < hosts[it->hosts[i]].count; a++)
            it->agents[it->ranks++] = hosts[it->hosts[i]].agents[a];
    }
    trials_open(&trials, acceptance, STAGE_ALL);
    enum status status = trials_add(
        &trials, it->agents, it->ranks,
        "allreduce,alltoall -b 1K -e 1M -f 1024 -n auto --budget 2 -w 2 -c 1 --timeout %g",
        fmax(fmin(STALL_SECONDS, stage_left(acceptance) / 3), 1));
    if (status == STATUS_OK)
        status = trials_run(&trials, ALL_SECONDS);
    if (status == STATUS_OK)
        status = trials.of[0].outcome == READING_VALUE ? all_judge(it, &trials, result)
                                                       : trials_find_failure(&trials, 0);
    if (status == STATUS_OK && trials.of[0].outcome != READING_VALUE && !trials.of[0].cut)
        stage_lacks(result, STAGE_PARTLY, "its job failed: %s", trials.of[0].why);
    trials_close(&trials);
    return status;
}

enum status all_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    size_t hosts = (size_t)acceptance->roster->host_count;
    struct all_run it = {.acceptance = acceptance,
                         .hosts = calloc(hosts, sizeof *it.hosts),
                         .present = calloc(hosts, sizeof *it.present),
                         .agents = calloc((size_t)acceptance->roster->ranks, sizeof *it.agents)};
    enum status status = it.hosts && it.present && it.agents
                             ? all_go(&it, result)
                             : fail(STATUS_ERROR, "out of memory for the hosts");
    free(it.hosts);
    free(it.present);
    free(it.agents);
    return status;
}
