/*
 * all_stage.c - the stages halves and all: what shows only when many talk at once.
 */
#include "accept/all_stage.h"

#include <stdio.h>
#include <stdlib.h>

#include "accept/trials.h"
#include "accept/stage.h"
#include "base/log.h"
#include "base/random.h"

#define HALVES_SECONDS 60.0
#define ALL_SECONDS    120.0
#define SPLITS         3 /* random halves */

/* A job of many hosts failed: the worker that died, if one did, accuses its host. */
static enum status many_failed(struct acceptance *acceptance, enum accept_stage stage,
                               const struct trial *outcome)
{
    int host = outcome->culprit >= 0 ? acceptance->roster->agents[outcome->culprit].host : -1;
    return stage_finds(acceptance, stage, host, -1, host < 0 ? HEALTH_GOOD : HEALTH_SUSPECT,
                       outcome_status(outcome->outcome), "%s%sa job of all hosts fails: %s",
                       host < 0 ? "" : host_label(acceptance, host), host < 0 ? "" : ": ",
                       outcome->why);
}

/* One job: the first half of the ranks exchanges with the second. */
static enum status halves_exchange(struct acceptance *acceptance, size_t bytes, const int *hosts,
                                   const int *order, int count, int *agents, double *busbw)
{
    struct trials trials;
    for (int i = 0; i < count; i++)
        agents[i] = acceptance->roster->hosts[hosts[order[i]]].agents[0];
    trials_open(&trials, acceptance, STAGE_HALVES);
    enum status status = trials_add(
        &trials, agents, count, "sendrecv -a pairs -b %zu -e %zu -n 20 -w 2 -c 1", bytes, bytes);
    if (status == STATUS_OK)
        status = trials_run(&trials, HALVES_SECONDS);
    if (status == STATUS_OK && trials.of[0].outcome == READING_VALUE)
        *busbw = line_number(trials_line(&trials, 0, NULL, NULL, 1), "busbw_GBps");
    else if (status == STATUS_OK)
        status = many_failed(acceptance, STAGE_HALVES, &trials.of[0]);
    trials_close(&trials);
    return status;
}

static enum status halves_go(struct acceptance *acceptance, const struct pairs_state *pairs,
                             int *hosts, int *agents, int *order, struct stage_result *result)
{
    uint64_t random = acceptance->job->seed;
    int count = hosts_good(acceptance, hosts) & ~1, done = 0;
    double least = 0, most = 0;
    enum status status = STATUS_OK;
    if (count < 4) {
        stage_leave_out(result, "fewer than 4 hosts are good: their halves are pairs");
        return STATUS_OK;
    }
    for (int split = 0; split < SPLITS && status == STATUS_OK; split++) {
        double busbw = 0;
        count = hosts_good(acceptance, hosts) & ~1;
        random_shuffle(order, count, &random);
        status =
            halves_exchange(acceptance, pairs->jobs.bytes, hosts, order, count, agents, &busbw);
        if (busbw > 0) {
            least = done == 0 || busbw < least ? busbw : least;
            most = busbw > most ? busbw : most;
            done++;
        }
    }
    stage_says(result,
               "%d random halves of %d hosts: the slowest pair has %.3g to %.3g GB/s each way",
               done, count, least, most);
    return status;
}

enum status halves_stage_run(struct acceptance *acceptance, const struct pairs_state *pairs,
                             struct stage_result *result)
{
    size_t count = (size_t)acceptance->roster->host_count;
    int *hosts = malloc(count * sizeof *hosts), *agents = malloc(count * sizeof *agents);
    int *order = malloc(count * sizeof *order);
    enum status status = STATUS_OK;
    if (!hosts || !agents || !order)
        status = fail(STATUS_ERROR, "out of memory for the hosts");
    else if (pairs->jobs.bytes == 0)
        stage_leave_out(result, "no pairs were measured, so nothing says how large messages are "
                                "to be");
    else
        status = halves_go(acceptance, pairs, hosts, agents, order, result);
    free(order);
    free(hosts);
    free(agents);
    return status;
}

static enum status all_go(struct acceptance *acceptance, int *hosts, int *agents,
                          struct stage_result *result)
{
    const struct roster *roster = acceptance->roster;
    int count = hosts_good(acceptance, hosts), ranks = 0;
    struct trials trials;
    if (count < 2) {
        stage_leave_out(result, "fewer than 2 hosts are good");
        return STATUS_OK;
    }
    for (int i = 0; i < count; i++)
        for (int a = 0; a < roster->hosts[hosts[i]].count; a++)
            agents[ranks++] = roster->hosts[hosts[i]].agents[a];
    trials_open(&trials, acceptance, STAGE_ALL);
    enum status status = trials_add(&trials, agents, ranks,
                                    "allreduce,alltoall -b 1K -e 1M -f 1024 -n 20 -w 2 -c 1");
    if (status == STATUS_OK)
        status = trials_run(&trials, ALL_SECONDS);
    if (status == STATUS_OK && trials.of[0].outcome != READING_VALUE)
        status = many_failed(acceptance, STAGE_ALL, &trials.of[0]);
    if (status == STATUS_OK)
        stage_says(result,
                   "%d ranks of %d hosts: allreduce of 1M %.3g GB/s, alltoall of 1M %.3g GB/s",
                   ranks, count,
                   line_number(trials_line(&trials, 0, "allreduce", NULL, 1 << 20), "busbw_GBps"),
                   line_number(trials_line(&trials, 0, "alltoall", NULL, 1 << 20), "busbw_GBps"));
    trials_close(&trials);
    return status;
}

enum status all_stage_run(struct acceptance *acceptance, const struct pairs_state *pairs,
                          struct stage_result *result)
{
    (void)pairs;
    int *hosts = malloc((size_t)acceptance->roster->host_count * sizeof *hosts);
    int *agents = malloc((size_t)acceptance->roster->ranks * sizeof *agents);
    enum status status = hosts && agents ? all_go(acceptance, hosts, agents, result)
                                         : fail(STATUS_ERROR, "out of memory for the hosts");
    free(hosts);
    free(agents);
    return status;
}
