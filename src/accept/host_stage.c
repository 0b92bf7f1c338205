/*
 * host_stage.c - a stage that looks at each host by itself.
 */
#include "accept/host_stage.h"

#include <stdio.h>
#include <stdlib.h>

#include "accept/stage.h"
#include "accept/trials.h"
#include "base/log.h"
#include "base/text.h"
#include "screening/host_values.h"
#include "screening/sickness_text.h"

struct host_run {
    struct acceptance *acceptance;
    const struct host_stage *stage;
    int hosts;
    double *values;  /* [metric][host]; 0: not measured */
    double *earlier; /* [host]: of one metric */
    bool *outliers;  /* likewise */
    struct reason *reasons;
    int failed, slow;
};

static size_t cell_of(const struct host_run *run, int metric, int host)
{
    return (size_t)metric * (size_t)run->hosts + (size_t)host;
}

static enum status host_take(struct host_run *run, const struct trials *trials, int job, int host)
{
    struct acceptance *acceptance = run->acceptance;
    const struct host_stage *stage = run->stage;
    const struct trial *trial = &trials->of[job];
    if (trial->outcome != READING_VALUE) {
        if (acceptance->roster->hosts[host].lost || trial->cut)
            return STATUS_OK; /* that is a finding of its own, or no fault */
        run->failed++;
        return stage_finds(acceptance, stage->stage, host, -1, HEALTH_BAD,
                           outcome_status(trial->outcome), "%s: %s: %s",
                           host_label(acceptance, host), stage->fails, trial->why);
    }
    for (int m = 0; m < stage->metric_count; m++) {
        const struct host_metric *metric = &stage->metrics[m];
        const json_t *line = trials_line(trials, job, metric->collective, NULL, metric->bytes);
        run->values[cell_of(run, m, host)] = line_number(line, metric->number);
    }
    return STATUS_OK;
}

static enum status hosts_measure(struct host_run *run, const int *hosts, int count)
{
    const struct host_stage *stage = run->stage;
    struct trials trials;
    enum status status = STATUS_OK;
    trials_open(&trials, run->acceptance, stage->stage);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const struct fleet_host *host = &run->acceptance->roster->hosts[hosts[i]];
        status =
            trials_add(&trials, host->agents, stage->alone ? 1 : host->count, "%s", stage->command);
    }
    if (status == STATUS_OK)
        status = trials_run(&trials, stage->seconds);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = host_take(run, &trials, i, hosts[i]);
    trials_close(&trials);
    return status;
}

/* What the hosts had in an earlier run; NULL: nothing is known. */
static const double *earlier_find(struct host_run *run, int m)
{
    bool known = baseline_values(&run->acceptance->baseline, accept_stage_names[run->stage->stage],
                                 run->stage->metrics[m].name, run->earlier, run->hosts);
    return known ? run->earlier : NULL;
}

static enum status hosts_judge(struct host_run *run)
{
    const struct host_stage *stage = run->stage;
    for (int m = 0; m < stage->metric_count; m++) {
        const struct value_rule rule = {
            .less_is_better = stage->metrics[m].less_is_better,
            .floor = stage->metrics[m].floor,
            .asked = host_profile_asked(&run->acceptance->profile, stage->metrics[m].key),
            .earlier = earlier_find(run, m),
            .earlier_floor = stage->metrics[m].floor,
            .judged = (double)run->hosts * (double)stage->metric_count,
        };
        size_t first = cell_of(run, m, 0);
        if (host_values_judge(&rule, run->values + first, run->hosts, run->outliers + first,
                              run->reasons + first) < 0)
            return fail(STATUS_ERROR, "out of memory for the numbers of %d hosts", run->hosts);
    }
    return STATUS_OK;
}

/* The first metric in which a host stands out; -1: none. */
static int metric_standing_out(const struct host_run *run, int host)
{
    for (int m = 0; m < run->stage->metric_count; m++)
        if (run->outliers[cell_of(run, m, host)])
            return m;
    return -1;
}

static enum status host_accuse(struct host_run *run, int host, int m)
{
    const struct host_metric *metric = &run->stage->metrics[m];
    const struct reason *reason = &run->reasons[cell_of(run, m, host)];
    run->slow++;
    return stage_finds(run->acceptance, run->stage->stage, host, -1, HEALTH_BAD, STATUS_SLOW,
                       "%s: %s: %.4g %s, the fleet's median is %.4g (spread %.2g, %s %.4g); "
                       "measured twice",
                       host_label(run->acceptance, host), metric->name, reason->value, metric->unit,
                       reason->median, reason->deviation, threshold_words[reason->yardstick],
                       reason->threshold);
}

/* Hosts that stand out are measured once more. */
static enum status hosts_confirm(struct host_run *run, int *hosts, int count)
{
    int suspects = 0;
    for (int i = 0; i < count; i++)
        if (metric_standing_out(run, hosts[i]) >= 0)
            hosts[suspects++] = hosts[i];
    if (suspects == 0)
        return STATUS_OK;
    for (int i = 0; i < suspects; i++)
        for (int m = 0; m < run->stage->metric_count; m++)
            run->values[cell_of(run, m, hosts[i])] = 0; /* it is the second that accuses */
    enum status status = hosts_measure(run, hosts, suspects);
    if (status == STATUS_OK)
        status = hosts_judge(run);
    for (int i = 0; i < suspects && status == STATUS_OK; i++) {
        int m = metric_standing_out(run, hosts[i]);
        if (m >= 0)
            status = host_accuse(run, hosts[i], m);
    }
    return status;
}

/* Keeps the last numbers of each host, and says the medians. */
static enum status hosts_keep(struct host_run *run, int count, struct stage_result *result)
{
    const struct host_stage *stage = run->stage;
    struct acceptance *acceptance = run->acceptance;
    char hosts[COUNTED_MOST];
    struct text text = text_in(result->text, sizeof result->text);
    text_add(&text, "%s, medians: ", counted(count, "host", hosts));
    for (int m = 0; m < stage->metric_count; m++) {
        const struct host_metric *metric = &stage->metrics[m];
        double median = 0;
        for (int h = 0; h < run->hosts; h++) {
            struct host_number number = {.stage = stage->stage,
                                         .host = h,
                                         .key = metric->key,
                                         .metric = metric->name,
                                         .unit = metric->unit,
                                         .value = run->values[cell_of(run, m, h)]};
            if (number.value > 0 && !number_keep(acceptance, &number))
                return fail(STATUS_ERROR, "out of memory for the numbers of the hosts");
            if (number.value > 0)
                median = run->reasons[cell_of(run, m, h)].median;
        }
        text_add(&text, "%s%s %.3g %s", m ? ", " : "", metric->name, median, metric->unit);
    }
    text_add(&text, "; %d failed, %d slow", run->failed, run->slow);
    return STATUS_OK;
}

static enum status host_stage_go(struct host_run *run, int *hosts, struct stage_result *result)
{
    const struct acceptance *acceptance = run->acceptance;
    char text[COUNTED_MOST];
    int count = 0, left = hosts_left(acceptance, hosts), single = 0;
    for (int i = 0; i < left; i++)
        if (run->stage->alone || acceptance->roster->hosts[hosts[i]].count > 1)
            hosts[count++] = hosts[i];
        else
            single++;
    if (count == 0) {
        stage_lacks(result, STAGE_LEFT_OUT,
                    left == 0 ? "no host is left"
                              : "each host has one agent: start several on each");
        return STATUS_OK;
    }
    bool held = acceptance->job->accept.profile || acceptance->job->accept.baseline;
    if (single > 0)
        stage_lacks(result, STAGE_PARTLY, "%s with one agent", counted(single, "host", text));
    else if (count < HOSTS_COMPARED)
        stage_lacks(result, STAGE_PARTLY,
                    held ? "not held against each other: %s" : "nothing to be held against: %s",
                    counted(count, "host", text));
    enum status status = hosts_measure(run, hosts, count);
    if (status == STATUS_OK)
        status = hosts_judge(run);
    if (status == STATUS_OK)
        status = hosts_confirm(run, hosts, count);
    return status == STATUS_OK ? hosts_keep(run, count, result) : status;
}

enum status host_stage_run(struct acceptance *acceptance, const struct host_stage *stage,
                           struct stage_result *result)
{
    struct host_run run = {
        .acceptance = acceptance, .stage = stage, .hosts = acceptance->roster->host_count};
    size_t cells = (size_t)run.hosts * (size_t)stage->metric_count;
    int *hosts = calloc((size_t)run.hosts, sizeof *hosts);
    run.values = calloc(cells, sizeof *run.values);
    run.earlier = calloc((size_t)run.hosts, sizeof *run.earlier);
    run.outliers = calloc(cells, sizeof *run.outliers);
    run.reasons = calloc(cells, sizeof *run.reasons);
    enum status status = hosts && run.values && run.earlier && run.outliers && run.reasons
                             ? host_stage_go(&run, hosts, result)
                             : fail(STATUS_ERROR, "out of memory for %d hosts", run.hosts);
    free(hosts);
    free(run.values);
    free(run.earlier);
    free(run.outliers);
    free(run.reasons);
    return status;
}
