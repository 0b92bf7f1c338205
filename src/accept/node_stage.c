/*
 * node_stage.c - each host by itself: allreduce and alltoall among its agents, checked.
 */
#include "accept/node_stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "accept/trials.h"
#include "accept/stage.h"
#include "base/log.h"
#include "screening/spread.h"

#define NODE_SECONDS  30.0
#define SMALL         1024
#define LARGE         (1 << 20)
#define BUSBW_FLOOR   0.15 /* shares of the fleet's median by which a healthy host may differ */
#define LATENCY_FLOOR 0.30
#define HOSTS_LEAST   4 /* with fewer there is no middle to be held against */

/* What is measured of each host. */
struct node_metric {
    const char *collective, *number, *unit;
    size_t bytes;
    bool more_is_better;
    double floor;
};
static const struct node_metric metrics[] = {
    {"allreduce", "time_us.p50", "us", SMALL, false, LATENCY_FLOOR},
    {"allreduce", "busbw_GBps", "GB/s", LARGE, true, BUSBW_FLOOR},
    {"alltoall", "busbw_GBps", "GB/s", LARGE, true, BUSBW_FLOOR},
};
#define NODE_METRICS ((int)(sizeof metrics / sizeof metrics[0]))

struct node_run {
    struct acceptance *acceptance;
    struct stage_result *result;
    double (*values)[NODE_METRICS]; /* by host; NAN: not measured */
    struct spread spreads[NODE_METRICS];
    double *room; /* a value for each host */
    int measured, failed, slow;
};

static enum status node_add(struct trials *trials, const struct fleet_host *host)
{
    return trials_add(trials, host->agents, host->count,
                      "allreduce,alltoall -b %d -e %d -f %d -n 20 -w 3 -c 1", SMALL, LARGE,
                      LARGE / SMALL);
}

static enum status node_take(struct node_run *run, const struct trials *trials, int job, int host)
{
    struct acceptance *acceptance = run->acceptance;
    const struct trial *outcome = &trials->of[job];
    if (outcome->outcome != READING_VALUE) {
        run->failed++;
        return stage_finds(acceptance, STAGE_NODE, host, -1, HEALTH_BAD,
                           outcome_status(outcome->outcome),
                           "%s: collectives among its own ranks fail: %s",
                           host_label(acceptance, host), outcome->why);
    }
    run->measured++;
    for (int m = 0; m < NODE_METRICS; m++)
        run->values[host][m] =
            line_number(trials_line(trials, job, metrics[m].collective, NULL, metrics[m].bytes),
                        metrics[m].number);
    return STATUS_OK;
}

static enum status node_measure(struct node_run *run, const int *hosts, int count)
{
    struct trials trials;
    trials_open(&trials, run->acceptance, STAGE_NODE);
    enum status status = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = node_add(&trials, &run->acceptance->roster->hosts[hosts[i]]);
    if (status == STATUS_OK)
        status = trials_run(&trials, NODE_SECONDS);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = node_take(run, &trials, i, hosts[i]);
    trials_close(&trials);
    return status;
}

/* From where on a value is an outlier. */
static double threshold_of(const struct node_metric *metric, const struct spread *spread)
{
    double judged = (double)spread->count * NODE_METRICS;
    double off =
        fmax(spread_factor(judged, 1.0) * spread->deviation, metric->floor * fabs(spread->median));
    return metric->more_is_better ? spread->median - off : spread->median + off;
}

static bool is_outlier(const struct node_run *run, int m, int host)
{
    double value = run->values[host][m], threshold = threshold_of(&metrics[m], &run->spreads[m]);
    return !isnan(value) && run->spreads[m].count >= HOSTS_LEAST &&
           (metrics[m].more_is_better ? value < threshold : value > threshold);
}

static void node_learn(struct node_run *run, const int *hosts, int count)
{
    for (int m = 0; m < NODE_METRICS; m++) {
        size_t known = 0;
        for (int i = 0; i < count; i++)
            if (!isnan(run->values[hosts[i]][m]))
                run->room[known++] = run->values[hosts[i]][m];
        run->spreads[m] = spread_of(run->room, known);
    }
}

/* Hosts that are slow are measured once more. */
static enum status node_confirm(struct node_run *run, int *hosts, int count)
{
    int suspects = 0;
    for (int i = 0; i < count; i++) {
        bool slow = false;
        for (int m = 0; m < NODE_METRICS; m++)
            slow |= is_outlier(run, m, hosts[i]);
        if (slow)
            hosts[suspects++] = hosts[i];
    }
    enum status status = suspects > 0 ? node_measure(run, hosts, suspects) : STATUS_OK;
    for (int i = 0; i < suspects && status == STATUS_OK; i++)
        for (int m = 0; m < NODE_METRICS && status == STATUS_OK; m++) {
            const struct node_metric *metric = &metrics[m];
            if (!is_outlier(run, m, hosts[i]))
                continue;
            run->slow++;
            status = stage_finds(
                run->acceptance, STAGE_NODE, hosts[i], -1, HEALTH_BAD, STATUS_SLOW,
                "%s: %s among its own ranks has %.4g %s, the fleet's median is %.4g (threshold "
                "%.4g); measured twice",
                host_label(run->acceptance, hosts[i]), metric->collective, run->values[hosts[i]][m],
                metric->unit, run->spreads[m].median, threshold_of(metric, &run->spreads[m]));
            break; /* one is enough */
        }
    return status;
}

static enum status node_go(struct node_run *run, int *hosts)
{
    char text[COUNTED_MOST];
    int count = 0, left = hosts_left(run->acceptance, hosts), single = 0;
    for (int i = 0; i < left; i++)
        if (run->acceptance->roster->hosts[hosts[i]].count > 1)
            hosts[count++] = hosts[i];
        else
            single++;
    if (count == 0) {
        stage_leave_out(run->result, "each host has one agent: start several on each");
        return STATUS_OK;
    }
    if (single > 0)
        stage_is_partial(run->result, "%s with one agent", counted(single, "host", text));
    enum status status = node_measure(run, hosts, count);
    node_learn(run, hosts, count);
    if (status == STATUS_OK)
        status = node_confirm(run, hosts, count);
    stage_says(run->result,
               "%s, medians: allreduce of 1K %.3g us, of 1M %.3g GB/s, alltoall of 1M %.3g GB/s; "
               "%d failed, %d slow",
               counted(count, "host", text), run->spreads[0].median, run->spreads[1].median,
               run->spreads[2].median, run->failed, run->slow);
    return status;
}

enum status node_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    size_t hosts = (size_t)acceptance->roster->host_count;
    struct node_run run = {.acceptance = acceptance,
                           .result = result,
                           .values = malloc(hosts * sizeof *run.values),
                           .room = malloc(hosts * sizeof *run.room)};
    int *list = malloc(hosts * sizeof *list);
    for (size_t h = 0; h < hosts && run.values; h++)
        for (int m = 0; m < NODE_METRICS; m++)
            run.values[h][m] = NAN;
    enum status status = run.values && run.room && list
                             ? node_go(&run, list)
                             : fail(STATUS_ERROR, "out of memory for the hosts");
    free(run.values);
    free(run.room);
    free(list);
    return status;
}
