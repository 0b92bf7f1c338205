/*
 * all_stage.c - the stages halves and all: what shows only when many talk at once.
 */
#include "accept/all_stage.h"

#include <math.h>
#include <stdlib.h>

#include "accept/stage.h"
#include "accept/trials.h"
#include "base/log.h"
#include "base/random.h"
#include "screening/exchange.h"

#define HALVES_SECONDS 60.0
#define ALL_SECONDS    120.0
#define SPLITS         3 /* random halves */
#define HALF_LEAST     2 /* hosts */

/* A job of many hosts failed: a worker that died accuses its host. */
static enum status many_failed(struct acceptance *acceptance, enum accept_stage stage,
                               const struct trial *trial)
{
    int host = trial->culprit >= 0 ? acceptance->roster->agents[trial->culprit].host : -1;
    if (host >= 0 && acceptance->roster->hosts[host].lost)
        return STATUS_OK; /* that is a finding of its own */
    return stage_finds(acceptance, stage, host, -1, host < 0 ? HEALTH_GOOD : HEALTH_SUSPECT,
                       outcome_status(trial->outcome), "%s: a job of all good hosts fails: %s",
                       host < 0 ? "all" : host_label(acceptance, host), trial->why);
}

/* ---- halves ---- */

struct halving {
    struct acceptance *acceptance;
    int *hosts;   /* that are good, */
    int *order;   /* places in it, shuffled: 0 exchanges with 1, 2 with 3 ... */
    int *agents;  /* in this order */
    int *half_of; /* by host: 0, 1, or -1 */
    struct reading *transfers;
    int count, rail, done;
    double least, most; /* shares of what pairs promise */
};

/* What each pair of a half had on the rail: both directions. */
static size_t transfers_take(struct halving *it, const json_t *line)
{
    const json_t *groups = json_object_get(line, "groups");
    size_t known = 0;
    for (size_t i = 0; i < json_array_size(groups) && (int)i < it->count / 2; i++) {
        double value = line_number(json_array_get(groups, i), "busbw_GBps");
        int a = it->hosts[it->order[2 * i]], b = it->hosts[it->order[2 * i + 1]];
        it->transfers[known++] = (struct reading){.from = a,
                                                  .to = b,
                                                  .rail = it->rail,
                                                  .metric = METRIC_BOTH,
                                                  .outcome = READING_VALUE,
                                                  .value = value};
        it->transfers[known++] = (struct reading){.from = b,
                                                  .to = a,
                                                  .rail = it->rail,
                                                  .metric = METRIC_BOTH,
                                                  .outcome = READING_VALUE,
                                                  .value = value};
    }
    return known;
}

static enum status halves_judge(struct halving *it, const json_t *line)
{
    struct acceptance *acceptance = it->acceptance;
    struct exchange_group groups[2];
    struct exchange_shares shares;
    size_t known = transfers_take(it, line);
    if (!exchange_judge(acceptance->fleet, it->transfers, known, it->half_of, 2, groups, &shares))
        return fail(STATUS_ERROR, "out of memory for the halves");
    it->least = it->done == 0 ? shares.share : fmin(it->least, shares.share);
    it->most = fmax(it->most, shares.share);
    it->done++;
    if (!shares.congested)
        return STATUS_OK;
    return stage_finds(
        acceptance, STAGE_HALVES, -1, -1, HEALTH_GOOD, STATUS_SLOW,
        "all: when %d pairs of hosts exchange at once, the median pair has %.0f%% of "
        "what it has with fewer (least: %.0f%%): the network between them is "
        "congested",
        it->count / 2, 100 * shares.share, 100 * SHARE_LEAST);
}

static enum status halves_exchange(struct halving *it)
{
    struct acceptance *acceptance = it->acceptance;
    struct trials trials;
    char transport[RAIL_TRANSPORT_MOST];
    for (int h = 0; h < acceptance->roster->host_count; h++)
        it->half_of[h] = -1;
    for (int i = 0; i < it->count; i++) {
        int host = it->hosts[it->order[i]];
        it->agents[i] = acceptance->roster->hosts[host].agents[0];
        it->half_of[host] = i % 2;
    }
    trials_open(&trials, acceptance, STAGE_HALVES);
    trials.transport = rail_transport(acceptance->job, &acceptance->rails, it->rail, transport);
    enum status status = trials_add(
        &trials, it->agents, it->count,
        "sendrecv -a bidir -b %zu -e %zu --split 2 -n auto --budget 2 -w 2 -c 1 --timeout 15",
        acceptance->message_bytes, acceptance->message_bytes);
    if (status == STATUS_OK)
        status = trials_run(&trials, HALVES_SECONDS);
    if (status == STATUS_OK)
        status = trials.of[0].outcome == READING_VALUE
                     ? halves_judge(it, trials_line(&trials, 0, NULL, NULL, 1))
                     : many_failed(acceptance, STAGE_HALVES, &trials.of[0]);
    trials_close(&trials);
    return status;
}

static enum status halves_go(struct halving *it, struct stage_result *result)
{
    struct acceptance *acceptance = it->acceptance;
    uint64_t random = acceptance->seed;
    enum status status = STATUS_OK;
    it->count = hosts_good(acceptance, it->hosts) & ~1;
    if (it->count < 2 * HALF_LEAST) {
        stage_lacks(result, STAGE_LEFT_OUT, "fewer than %d hosts are good", 2 * HALF_LEAST);
        return STATUS_OK;
    }
    for (int split = 0; split < SPLITS && status == STATUS_OK; split++) {
        it->count = hosts_good(acceptance, it->hosts) & ~1;
        random_shuffle(it->order, it->count, &random);
        it->rail = split % acceptance->rails.count;
        status = halves_exchange(it);
    }
    if (it->done < SPLITS)
        stage_lacks(result, STAGE_PARTLY, "%d of %d halves could be measured", it->done, SPLITS);
    stage_says(
        result,
        "%d random halves of %d hosts: the median pair has %.0f to %.0f%% of what pairs have",
        it->done, it->count, 100 * it->least, 100 * it->most);
    return status;
}

enum status halves_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    size_t count = (size_t)acceptance->roster->host_count;
    if (!acceptance->fleet) {
        stage_lacks(result, STAGE_LEFT_OUT,
                    "no pairs were measured, to which halves could be compared");
        return STATUS_OK;
    }
    struct halving it = {.acceptance = acceptance,
                         .hosts = calloc(count, sizeof *it.hosts),
                         .order = calloc(count, sizeof *it.order),
                         .agents = calloc(count, sizeof *it.agents),
                         .half_of = calloc(count, sizeof *it.half_of),
                         .transfers = calloc(count, sizeof *it.transfers)};
    enum status status = it.hosts && it.order && it.agents && it.half_of && it.transfers
                             ? halves_go(&it, result)
                             : fail(STATUS_ERROR, "out of memory for the hosts");
    free(it.hosts);
    free(it.order);
    free(it.agents);
    free(it.half_of);
    free(it.transfers);
    return status;
}

/* ---- all ---- */

#define ALL_BYTES (1 << 20)

struct all_run {
    struct acceptance *acceptance;
    int *hosts, *agents;
    bool *present;
    int count, ranks;
};

/* Is a collective slower than its slowest host explains? */
static enum status collective_judge(const struct all_run *it, const char *name, double us,
                                    double least_us, int slowest, double rate)
{
    if (us <= 0 || least_us <= 0 || us <= least_us / COLLECTIVE_LEAST)
        return STATUS_OK;
    return stage_finds(it->acceptance, STAGE_ALL, -1, -1, HEALTH_GOOD, STATUS_SLOW,
                       "all: %s of 1M over %d ranks takes %.4g us, and its slowest host (%s, %.3g "
                       "GB/s) explains %.4g us at most: look at what many at once share",
                       name, it->ranks, us, host_label(it->acceptance, slowest), rate,
                       least_us / COLLECTIVE_LEAST);
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
    enum status status =
        collective_judge(it, "allreduce", line_number(allreduce, "time_us.p50"),
                         allreduce_least_us(it->count, ALL_BYTES, rate), slowest, rate);
    if (status == STATUS_OK)
        status = collective_judge(
            it, "alltoall", line_number(alltoall, "time_us.p50"),
            alltoall_least_us(it->count, it->ranks / it->count, ALL_BYTES, rate), slowest, rate);
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
        "allreduce,alltoall -b 1K -e 1M -f 1024 -n auto --budget 2 -w 2 -c 1 --timeout 30");
    if (status == STATUS_OK)
        status = trials_run(&trials, ALL_SECONDS);
    if (status == STATUS_OK)
        status = trials.of[0].outcome == READING_VALUE
                     ? all_judge(it, &trials, result)
                     : many_failed(acceptance, STAGE_ALL, &trials.of[0]);
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
